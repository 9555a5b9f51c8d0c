package queue

import (
	"context"
	"slices"
)

type lineKey struct{}

// In returns a context whose work waits in the line with that name. The name is the id of the organization that
// causes the work.
func In(ctx context.Context, line string) context.Context {
	return context.WithValue(ctx, lineKey{}, line)
}

// lineOf returns the line of the context's work. Work without an organization has the line with the empty name.
func lineOf(ctx context.Context) string {
	line, _ := ctx.Value(lineKey{}).(string)
	return line
}

// Lines holds waiting elements, with one line for each organization. The lines take turns. So the first element of a
// line waits for at most one element of each other line, however long these lines are. It is not safe for concurrent
// use.
type Lines[T comparable] struct {
	most  int
	count int
	lines map[string][]T
	// turns are the lines with waiting elements. The first one is next.
	turns []string
}

// NewLines returns lines for at most most elements in total.
func NewLines[T comparable](most int) *Lines[T] {
	return &Lines[T]{most: most, lines: map[string][]T{}}
}

// Len returns how many elements wait.
func (l *Lines[T]) Len() int { return l.count }

// Has reports whether a line has waiting elements.
func (l *Lines[T]) Has(line string) bool { return len(l.lines[line]) > 0 }

// Add appends an element to a line. If there are then too many elements, the last element of the longest line is
// removed, so that no line can take the space of the others. Add returns the removed element, which may be the new
// one. full reports whether an element was removed.
func (l *Lines[T]) Add(line string, one T) (left T, full bool) {
	if len(l.lines[line]) == 0 {
		l.turns = append(l.turns, line)
	}
	l.lines[line] = append(l.lines[line], one)
	if l.count++; l.count <= l.most {
		return left, false
	}
	longest := line
	for _, other := range l.turns {
		if len(l.lines[other]) > len(l.lines[longest]) {
			longest = other
		}
	}
	left = l.lines[longest][len(l.lines[longest])-1]
	l.take(longest, len(l.lines[longest])-1)
	return left, true
}

// Next removes and returns the first element of the next line for which may returns true. It returns false if there
// is no such line.
func (l *Lines[T]) Next(may func(line string) bool) (next T, ok bool) {
	turn := slices.IndexFunc(l.turns, may)
	if turn < 0 {
		return next, false
	}
	line := l.turns[turn]
	next = l.lines[line][0]
	if l.take(line, 0); len(l.lines[line]) > 0 {
		l.turns = append(slices.Delete(l.turns, turn, turn+1), line)
	}
	return next, true
}

// Remove removes an element from its line. It reports false if the element is not there any more.
func (l *Lines[T]) Remove(line string, one T) bool {
	place := slices.Index(l.lines[line], one)
	if place >= 0 {
		l.take(line, place)
	}
	return place >= 0
}

// take removes the element at a place of a line. If it was the last element, take removes the line too.
func (l *Lines[T]) take(line string, place int) {
	l.count--
	l.lines[line] = slices.Delete(l.lines[line], place, place+1)
	if len(l.lines[line]) == 0 {
		delete(l.lines, line)
		turn := slices.Index(l.turns, line)
		l.turns = slices.Delete(l.turns, turn, turn+1)
	}
}
