// Package search reads pages of lists, with filters and totals. It is the only package that builds SQL.
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

// DefaultLimit is the page size if the request has none. It is also the largest size that operators can allow.
const DefaultLimit = 1000

// Limit is the settings struct of every service that has searches.
type Limit struct {
	MaxLimit int64 `env:"HERALD_SEARCH_MAX_LIMIT" envDefault:"1000"`
}

// Help implements boot.Documented.
func (Limit) Help() map[string]string {
	return map[string]string{
		"HERALD_SEARCH_MAX_LIMIT": "largest page of a search",
	}
}

// CheckMax returns an error if the configured maximum is not between 1 and DefaultLimit.
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
	// An int64 can count the rows of every table, and Postgres accepts no larger offset.
	p.Offset = min(p.Offset, 1<<62)
	return p, nil
}

// Query is a list with its filters.
type Query struct {
	columns, from, order string
	conditions           []string
	args                 []any
	// texts is true if there is a filter on a text. Few rows match such a filter, and the planner estimates their
	// number badly.
	texts bool
	// plan is the plan_cache_mode of the statement that few returns.
	plan string
}

// Select returns a query without filters. The first column must not be nullable. order lists the columns by which the
// list is sorted, oldest first, with ", " between them.
func Select(columns, from, order string) *Query {
	return &Query{columns: columns, from: from, order: order}
}

// Of makes the list read from a subquery, which gets the name of the table. Each ? in the subquery is replaced by the
// number of the next argument.
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

// Column names the two columns of a searchable text: the text as written, and the text that Fold returns.
type Column struct {
	Exact, Folded string
	// Among is SQL for all searchable texts of a row, with a line feed before and after each text. If it is set, it
	// has the only index for searching parts of texts. It is empty if each column has its own indexes.
	Among string
}

// contains adds the condition that the indexed texts contain another text. A line feed in that text stands for the
// start or end of a text.
func (s *Query) contains(among, text string) {
	if among != "" {
		s.plan = ownPlan // the best plan depends on the text
		s.Where(among+" like ?", "%"+wildcards.Replace(text)+"%")
	}
}

// match is the part of a text that must equal the value of a filter.
type match int

const (
	whole match = iota
	start
	end
	anywhere
)

// textMethods are the text methods of filters.
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

// Text adds a filter on a text with a text method. It escapes the characters that have a meaning in LIKE. The column
// must have the collation "C".
func (s *Query) Text(c Column, method heraldv1.TextQueryMethod, value string) *Query {
	how, column := textMethods[method], c.Exact
	if how.ignoreCase {
		column, value = c.Folded, Fold(value)
	}
	if value == "" && how.match != whole { // every text contains the empty text
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

// starting adds the condition that a column begins with prefix. The condition is a range from prefix to the next text
// that does not begin with it, because an index with collation "C" serves a range. For LIKE the planner might choose
// the slower trigram index.
func (s *Query) starting(column, prefix string) *Query {
	s.plan = cmp.Or(s.plan, onePlan)
	s.Where(column+" >= ?", prefix)
	if end := after(prefix); end != "" {
		s.Where(column+" < ?", end)
	}
	return s
}

// reverse reverses a text in the same way as reverse in Postgres. Invalid UTF-8 is returned unchanged, and Postgres
// then refuses it.
func reverse(s string) string {
	if !utf8.ValidString(s) {
		return s
	}
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}

// after returns the first text that sorts after all texts with the given prefix. It is empty if there is no such
// text.
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

var joiners = strings.NewReplacer("\u200c", "", "\u200d", "")

var wildcards = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Fold returns a text for comparison without regard to case. It uses full Unicode case folding between two NFKC
// normalizations. The second one is needed because folding may undo the first. Joiners do not count (Unicode 3.13,
// NFKC_Casefold). Names have no other invisible characters.
func Fold(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return strings.ToLower(s) // US-ASCII text is already in NFKC
	}
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(joiners.Replace(s))))
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

// Details returns the totals of a list as a message.
func (l List[T]) Details() *heraldv1.ListDetails {
	return &heraldv1.ListDetails{
		TotalResult: l.Total, ProcessedSequence: l.Processed, ViewTimestamp: timestamppb.New(l.At),
	}
}
