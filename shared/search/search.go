// Package search reads pages of lists with filters and totals. It is the only place that
// builds SQL.
package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
)

// DefaultLimit is the size of a page for which the caller gives none. It is also the largest
// that operators can allow (specification, section 8).
const DefaultLimit = 1000

// Limit is the setting of every service that has searches.
type Limit struct {
	MaxLimit int64 `env:"HERALD_SEARCH_MAX_LIMIT" envDefault:"1000"`
}

// Help implements boot.Documented.
func (Limit) Help() map[string]string {
	return map[string]string{
		"HERALD_SEARCH_MAX_LIMIT": "largest page of a search",
	}
}

// CheckMax returns an error if a configured maximum is not between 1 and DefaultLimit.
func CheckMax(limit int64) error {
	if limit < 1 || limit > DefaultLimit {
		return fmt.Errorf("HERALD_SEARCH_MAX_LIMIT: %d is not between 1 and %d", limit, DefaultLimit)
	}
	return nil
}

// Page is the requested part of a list.
type Page struct {
	Offset uint64
	Limit  int64
	Asc    bool
}

// Bounds returns the requested page. largest is the configured maximum.
func Bounds(q *heraldv1.ListQuery, largest int64) (Page, error) {
	p := Page{q.GetOffset(), q.GetLimit(), q.GetAsc()}
	switch {
	case p.Limit < 0:
		const reason = "must not be negative"
		return Page{}, fault.ErrInvalidArgument.Say("query.limit: %s", reason).On("query.limit", reason)
	case p.Limit > largest:
		reason := fmt.Sprintf("the maximum is %d", largest)
		return Page{}, fault.ErrLimitExceeded.Say("query.limit: %s", reason).On("query.limit", reason)
	case p.Limit == 0:
		p.Limit = min(DefaultLimit, largest)
	}
	// No table has more rows than an int64 counts, and Postgres takes no larger offset.
	p.Offset = min(p.Offset, 1<<62)
	return p, nil
}

// Query is a list with its filters.
type Query struct {
	columns, from, order string
	conditions           []string
	args                 []any
	// texts reports whether there is a filter on a text. Few rows match such a filter, and the
	// planner guesses badly how many.
	texts bool
	// plan is how the statement of few is planned.
	plan string
}

// Select returns a query without filters. The first column must not be nullable. order is the list
// of columns that sort the list oldest first, with ", " between them.
func Select(columns, from, order string) *Query {
	return &Query{columns: columns, from: from, order: order}
}

// Of reads the list from rows that a query makes, named from. Each ? in it is replaced by the number of the next
// argument.
func (s *Query) Of(query string, args ...any) *Query {
	s.from = "(" + s.numbered(query, args) + ") " + s.from
	return s
}

// Where adds a condition. Each ? in it is replaced by the number of the next argument.
func (s *Query) Where(condition string, args ...any) *Query {
	s.conditions = append(s.conditions, s.numbered(condition, args))
	return s
}

func (s *Query) numbered(sql string, args []any) string {
	for _, a := range args {
		s.args = append(s.args, a)
		sql = strings.Replace(sql, "?", fmt.Sprintf("$%d", len(s.args)), 1)
	}
	return sql
}

// Column names the two columns of a text that can be searched: as written, and made by Fold.
type Column struct {
	Exact, Folded string
	// Among is SQL for all searched texts of a row, with a line feed before and after each. It is empty if each
	// column has indexes of its own; otherwise it has the only one for parts of texts.
	Among string
}

// contains adds the condition that an indexed text contains another, which has no line feed but as a border.
func (s *Query) contains(among, text string) {
	if among != "" {
		s.plan = ownPlan // the best plan depends on the text
		s.Where(among+" like ?", "%"+wildcards.Replace(text)+"%")
	}
}

// match says which part of a text equals the value of a filter.
type match int

const (
	whole match = iota
	start
	end
	anywhere
)

// textMethods are the methods of the specification, section 4.6.
var textMethods = map[heraldv1.TextQueryMethod]struct {
	match      match
	ignoreCase bool
}{
	heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_EQUALS:                  {whole, false},
	heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE:      {whole, true},
	heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_STARTS_WITH:             {start, false},
	heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE: {start, true},
	heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_CONTAINS:                {anywhere, false},
	heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_CONTAINS_IGNORE_CASE:    {anywhere, true},
	heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_ENDS_WITH:               {end, false},
	heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_ENDS_WITH_IGNORE_CASE:   {end, true},
}

// Text adds a filter on a text by one of the methods of the specification, section 4.6. The
// characters that LIKE gives a meaning are escaped. The column's collation must be "C".
func (s *Query) Text(c Column, method heraldv1.TextQueryMethod, value string) *Query {
	how, column := textMethods[method], c.Exact
	if how.ignoreCase {
		column, value = c.Folded, Fold(value)
	}
	if value == "" && how.match != whole { // every text contains the empty one
		return s
	}
	s.texts = true
	switch how.match {
	case whole:
		s.contains(c.Among, "\n"+value+"\n")
		return s.Where(column+" = ?", value)
	case start:
		s.contains(c.Among, "\n"+value)
		return s.starting(column, value)
	case end:
		s.contains(c.Among, value+"\n")
		return s.starting("reverse("+column+")", reverse(value))
	default:
		s.contains(c.Among, value)
		s.plan = ownPlan // the best plan depends on the text
		return s.Where(column+" like ?", "%"+wildcards.Replace(value)+"%")
	}
}

// starting adds the condition that a column begins with prefix, as a range from prefix up to
// the next text that does not begin with it. An index with collation "C" serves the range; for
// LIKE the planner could choose the slower trigram index.
func (s *Query) starting(column, prefix string) *Query {
	s.plan = cmp.Or(s.plan, onePlan)
	s.Where(column+" >= ?", prefix)
	if end := after(prefix); end != "" {
		s.Where(column+" < ?", end)
	}
	return s
}

// reverse reverses a text as Postgres's reverse does. It returns invalid UTF-8 unchanged, which
// Postgres then refuses.
func reverse(s string) string {
	if !utf8.ValidString(s) {
		return s
	}
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}

// after returns the first text that sorts after all texts that begin with prefix. It is empty if
// there is none.
func after(prefix string) string {
	runes := []rune(prefix)
	for i := len(runes) - 1; i >= 0; i-- {
		switch next := runes[i] + 1; {
		case next > unicode.MaxRune:
			continue // there is no next character
		case next == surrogates:
			return string(runes[:i]) + string(rune(afterSurrogates))
		default:
			return string(runes[:i]) + string(next)
		}
	}
	return ""
}

// Code points that are not characters (Unicode, D71).
const (
	surrogates      = 0xD800
	afterSurrogates = 0xE000
)

var wildcards = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Fold returns a text for comparison without regard to case: full Unicode case folding between
// two NFKC normalizations, because folding may undo the first.
func Fold(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.ToLower(s) // US-ASCII is its own NFKC
	}
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

func (s *Query) where() string {
	if len(s.conditions) == 0 {
		return ""
	}
	return " where " + strings.Join(s.conditions, " and ")
}

// Each converts rows to messages.
func Each[T, M any](rows []T, message func(T) M) []M {
	messages := make([]M, len(rows))
	for i, row := range rows {
		messages[i] = message(row)
	}
	return messages
}

// Details returns the totals of a list as callers get them.
func (l List[T]) Details() *heraldv1.ListDetails {
	return &heraldv1.ListDetails{
		TotalResult: l.Total, ProcessedSequence: l.Processed, ViewTimestamp: timestamppb.New(l.At),
	}
}
