package structure

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// treeBlock is the tree of packages in CONTRIBUTING.md. An entry has a name and what the package is for. Entries below
// it are indented by two spaces more. A name that ends in a slash is a folder without a package, and a name such as
// internal/{domain,store} stands for several packages.
var (
	treeBlock = regexp.MustCompile("(?s)```tree\n(.*?)```")
	treeEntry = regexp.MustCompile(`^( *)(\S+)(?: {2,}(\S.*))?$`)
	braces    = regexp.MustCompile(`^(.*)\{([^}]*)\}(.*)$`)
)

// tree returns the folders of the packages that a text shows in its tree.
func tree(text string) ([]string, error) {
	found := treeBlock.FindStringSubmatch(text)
	if found == nil {
		return nil, fmt.Errorf("there is no tree of packages")
	}
	var packages, above []string
	for line := range strings.Lines(found[1]) {
		entry := treeEntry.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if entry == nil || len(entry[1])%2 != 0 || len(entry[1])/2 > len(above) {
			return nil, fmt.Errorf("%q is no entry of the tree", line)
		}
		above = append(above[:len(entry[1])/2], strings.TrimSuffix(entry[2], "/"))
		switch folder := strings.HasSuffix(entry[2], "/"); {
		case !folder && entry[3] == "":
			return nil, fmt.Errorf("%q does not say what the package is for", line)
		case !folder:
			packages = append(packages, expand(path.Join(above...))...)
		}
	}
	return packages, nil
}

// expand returns all names that a name with braces stands for.
func expand(name string) []string {
	found := braces.FindStringSubmatch(name)
	if found == nil {
		return []string{name}
	}
	var all []string
	for choice := range strings.SplitSeq(found[2], ",") {
		all = append(all, expand(found[1]+choice+found[3])...)
	}
	return all
}

// planted compares the packages with those that the tree shows.
func planted(sources []source, shown []string) []string {
	left := map[string]bool{}
	var wrong []string
	for _, dir := range shown {
		if left[dir] {
			wrong = append(wrong, fmt.Sprintf("CONTRIBUTING.md shows the package %s twice", dir))
		}
		left[dir] = true
	}
	for _, p := range packagesOf(sources) {
		if !left[p.dir] {
			wrong = append(wrong, fmt.Sprintf("%s: the tree of packages in CONTRIBUTING.md does not show it", p.dir))
		}
		delete(left, p.dir)
	}
	for _, dir := range slices.Sorted(maps.Keys(left)) {
		wrong = append(wrong, fmt.Sprintf("CONTRIBUTING.md shows %s, which is no package", dir))
	}
	return wrong
}
