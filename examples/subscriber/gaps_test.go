package main

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestGaps(t *testing.T) {
	t.Parallel()
	const users, projects = "/herald/users", "/herald/projects"
	start := time.Now()
	c := counts{highest: map[string]int64{}}
	for _, step := range []struct {
		after    time.Duration // of the start
		source   string
		came     []int64
		reported []string
	}{
		{0, users, []int64{5, 6, 4}, nil}, // numbers before the first are not missing
		{0, projects, []int64{1}, nil},
		{0, users, []int64{9, 8, 7, 10, 8}, nil}, // late ones, and repeats
		{gapTimeout, projects, []int64{2}, nil},
		{gapTimeout, users, []int64{20}, nil},
		{gapTimeout + 1, users, []int64{15, 11, 19, 22}, nil},
		{2*gapTimeout - 1, projects, []int64{4}, nil},
		{2 * gapTimeout, users, nil, []string{
			"gap: 3 events of /herald/users between 11 and 15 have not come",
			"gap: 3 events of /herald/users between 15 and 19 have not come",
		}},
		{2*gapTimeout + 1, users, []int64{13}, []string{"gap: event 21 of /herald/users has not come"}},
		{3*gapTimeout - 2, users, nil, nil},
		{3*gapTimeout - 1, users, []int64{23}, []string{"gap: event 3 of /herald/projects has not come"}},
		{9 * gapTimeout, users, nil, nil}, // each gap is reported once
	} {
		now := start.Add(step.after)
		for _, n := range step.came {
			c.came(step.source, n, now)
		}
		var reported []string
		for _, g := range c.due(now) {
			reported = append(reported, g.String())
		}
		if !slices.Equal(reported, step.reported) {
			t.Errorf("after %s, %s %d: %q, want %q", step.after, step.source, step.came, reported, step.reported)
		}
	}
	for n := range int64(most + 2) {
		c.came("/herald/orgs", 2*n, start)
	}
	if reported := c.due(start); len(c.missing) != most || fmt.Sprint(reported) !=
		"[gap: event 1 of /herald/orgs has not come]" {
		t.Errorf("%d are held, reported: %v", len(c.missing), reported)
	}
}
