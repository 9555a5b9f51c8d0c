package structure

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

var (
	rpc = regexp.MustCompile(`(?m)^  rpc (\w+)\(`)
	// ofContract is a service of a contract with its methods.
	ofContract = regexp.MustCompile(`(?ms)^service (\w+) \{(.*?)^\}`)
)

// mostMethods is how many methods a service of a contract may have, so that somebody can read it at once.
const mostMethods = 25

// crowded finds services of contracts with more methods.
func crowded(tree fs.FS) (wrong []string, err error) {
	files, err := fs.Glob(tree, "shared/proto/herald/*/v1/*.proto")
	if err != nil {
		return nil, err
	}
	services := 0
	for _, file := range files {
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, err
		}
		for _, service := range ofContract.FindAllStringSubmatch(string(text), -1) {
			services++
			if n := len(rpc.FindAllString(service[2], -1)); n > mostMethods {
				wrong = append(wrong, fmt.Sprintf("%s: %s has %d methods, more than %d: make a service of those about "+
					"one subject", file, service[1], n, mostMethods))
			}
		}
	}
	if services == 0 {
		return nil, fmt.Errorf("no contract has a service")
	}
	return wrong, nil
}

// journal is the package with the methods of the contracts journal.proto, which all services have in common.
const journal = "shared/event"

// uncalled finds methods of contracts that no test of their service or of the gateway names.
func uncalled(sources []source, tree fs.FS) (wrong []string, err error) {
	tested := map[string]map[string]bool{}
	for _, s := range sources {
		top := inService.FindString(s.dir())
		for _, other := range []string{"gateway", journal} {
			if strings.HasPrefix(s.path, other+"/") {
				top = other
			}
		}
		if top == "" || !s.ofTests() {
			continue
		}
		if tested[top] == nil {
			tested[top] = map[string]bool{}
		}
		for _, name := range selected(s) {
			tested[top][name] = true
		}
	}
	files, err := fs.Glob(tree, "shared/proto/herald/*/v1/*.proto")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, err
		}
		service := "services/" + path.Base(path.Dir(path.Dir(file)))
		if path.Base(file) == "journal.proto" {
			service = journal
		}
		for _, method := range rpc.FindAllStringSubmatch(string(text), -1) {
			if !tested[service][method[1]] && !tested["gateway"][method[1]] {
				wrong = append(wrong, fmt.Sprintf("%s: no test calls %s: write one in %s", file, method[1], service))
			}
		}
	}
	return wrong, nil
}
