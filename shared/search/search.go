// Package search reads lists: the bounds of a page, the filters of a search and the
// totals beside it. It is the only place that builds SQL.
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

// DefaultLimit is the size of a page whose caller names none, and the largest one
// that operators can allow (specification, section 8).
const DefaultLimit = 1000

// ErrLimit answers for a page larger than the configured maximum.
var ErrLimit = fault.New(fault.Invalid, "LIMIT_EXCEEDED", "The limit is above the maximum")

// CheckMax refuses a configured maximum that is none.
func CheckMax(limit int64) error {
	if limit < 1 || limit > DefaultLimit {
		return fmt.Errorf("HERALD_SEARCH_MAX_LIMIT: %d is not between 1 and %d", limit, DefaultLimit)
	}
	return nil
}

// Page is the part of a list that is asked for.
type Page struct {
	Offset uint64
	Limit  int64
	Asc    bool
}

// Bounds reads a page; largest is the configured maximum.
func Bounds(q *heraldv1.ListQuery, largest int64) (Page, error) {
	p := Page{q.GetOffset(), q.GetLimit(), q.GetAsc()}
	switch {
	case p.Limit < 0:
		return Page{}, fault.ErrInvalid.Say("query.limit: must not be negative").On("query.limit",
			"must not be negative")
	case p.Limit > largest:
		reason := fmt.Sprintf("the maximum is %d", largest)
		return Page{}, ErrLimit.Say("query.limit: %s", reason).On("query.limit", reason)
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
	// texts tells that texts are searched for, which few rows have. Where they lie the
	// planner can only guess, and badly.
	texts bool
	// plan is how a search for few is planned.
	plan string
}

// Select begins a search. The first of the columns is never null. Order names those that
// sort the list, ", " between them, oldest first.
func Select(columns, from, order string) *Query {
	return &Query{columns: columns, from: from, order: order}
}

// Where adds a condition; each ? in it stands for the next argument.
func (s *Query) Where(condition string, args ...any) *Query {
	for _, a := range args {
		s.args = append(s.args, a)
		condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(s.args)), 1)
	}
	s.conditions = append(s.conditions, condition)
	return s
}

// Column is a text that can be searched: as it is written, and a copy made by Fold.
type Column struct{ Exact, Folded string }

// Text adds a filter on a text by one of the methods of specification 4.6. Signs
// that LIKE gives a meaning match themselves. The column's collation is "C".
func (s *Query) Text(c Column, method heraldv1.TextQueryMethod, value string) *Query {
	column := c.Exact
	if method%2 == 1 { // the methods alternate: exact, ignoring case
		column, value = c.Folded, Fold(value)
	}
	if method <= heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE {
		s.texts = true
		return s.Where(column+" = ?", value)
	}
	if value == "" { // a part of every text
		return s
	}
	s.texts = true
	switch method {
	case heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_STARTS_WITH,
		heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE:
		return s.starting(column, value)
	case heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_ENDS_WITH,
		heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_ENDS_WITH_IGNORE_CASE:
		return s.starting("reverse("+column+")", reverse(value))
	}
	s.plan = ownPlan // the best one depends on the text
	return s.Where(column+" like ?", "%"+wildcards.Replace(value)+"%")
}

// starting finds the texts between a prefix and what comes after all that begin with it:
// an index in the order of the signs' numbers (collate "C") finds them together, and the
// planner cannot take one for parts of texts, which would be slower.
func (s *Query) starting(column, prefix string) *Query {
	s.plan = cmp.Or(s.plan, onePlan)
	s.Where(column+" >= ?", prefix)
	if end := after(prefix); end != "" {
		s.Where(column+" < ?", end)
	}
	return s
}

// reverse is what Postgres's function of that name does. What is not UTF-8 stays as it
// is, for Postgres to refuse.
func reverse(s string) string {
	if !utf8.ValidString(s) {
		return s
	}
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}

// after is the least text after all those that begin with a prefix; empty for none.
func after(prefix string) string {
	runes := []rune(prefix)
	for i := len(runes) - 1; i >= 0; i-- {
		switch next := runes[i] + 1; {
		case next > unicode.MaxRune:
			continue // the last sign there is
		case next == surrogates:
			return string(runes[:i]) + string(rune(afterSurrogates))
		default:
			return string(runes[:i]) + string(next)
		}
	}
	return ""
}

// Numbers that are no signs (Unicode, D71).
const (
	surrogates      = 0xD800
	afterSurrogates = 0xE000
)

var wildcards = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// Fold is a text as it is compared without regard to case: full Unicode case folding
// between two NFKC normalizations, as a normalized text may fold to one that is not.
func Fold(s string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
}

func (s *Query) where() string {
	if len(s.conditions) == 0 {
		return ""
	}
	return " where " + strings.Join(s.conditions, " and ")
}

// Each turns the rows of a list into messages.
func Each[T, M any](rows []T, message func(T) M) []M {
	messages := make([]M, len(rows))
	for i, row := range rows {
		messages[i] = message(row)
	}
	return messages
}

// Details is the list's head as it is answered.
func (l List[T]) Details() *heraldv1.ListDetails {
	return &heraldv1.ListDetails{
		TotalResult: l.Total, ProcessedSequence: l.Processed, ViewTimestamp: timestamppb.New(l.At),
	}
}
