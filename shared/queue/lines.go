package queue

import (
	"context"
	"slices"
)

type lineKey struct{}

// In returns a context whose work waits in the line of that name: the id of the organization whose load it is.
func In(ctx context.Context, line string) context.Context {
	return context.WithValue(ctx, lineKey{}, line)
}

// lineOf returns the line of the context's work. Work of no organization has a line too.
func lineOf(ctx context.Context) string {
	line, _ := ctx.Value(lineKey{}).(string)
	return line
}

// Lines keeps what waits, a line for each organization. The lines take turns, so what comes first in its line
// waits for one of each other line, however long these are. It is not safe for concurrent use.
type Lines[T comparable] struct {
	most  int
	count int
	lines map[string][]T
	// turns are the lines in which something waits, the next one first.
	turns []string
}

// NewLines makes lines for most elements together.
func NewLines[T comparable](most int) *Lines[T] {
	return &Lines[T]{most: most, lines: map[string][]T{}}
}

// Len returns how many elements wait.
func (l *Lines[T]) Len() int { return l.count }

// Has reports whether something waits in a line.
func (l *Lines[T]) Has(line string) bool { return len(l.lines[line]) > 0 }

// Add appends an element to a line. If too many wait then, the last of the longest line leaves, so that no line
// takes the room of the others. Add returns the one that left, which may be the new one, and whether one did.
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

// Next takes the first element of the line whose turn it is, of those that may go on. It returns false if there
// is none.
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

// Remove takes an element out of its line. It reports false if it is not there any more.
func (l *Lines[T]) Remove(line string, one T) bool {
	place := slices.Index(l.lines[line], one)
	if place >= 0 {
		l.take(line, place)
	}
	return place >= 0
}

// take removes the element at a place of a line, and the line with its last one.
func (l *Lines[T]) take(line string, place int) {
	l.count--
	l.lines[line] = slices.Delete(l.lines[line], place, place+1)
	if len(l.lines[line]) == 0 {
		delete(l.lines, line)
		turn := slices.Index(l.turns, line)
		l.turns = slices.Delete(l.turns, turn, turn+1)
	}
}
