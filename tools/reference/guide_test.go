package main

import "testing"

// A guide has no raw Markdown or HTML on its page, and no link that leads out of the site.
func TestGuide(t *testing.T) {
	t.Parallel()
	got, err := render([]byte("# Title\n\nSee [errors](errors.md), [a *file*](../examples/main.go), [below](#b),\n"+
		"[Security](../SECURITY.md), [a plan](plan.md), <http://localhost:3000> and <b>.\n\n"+
		"| A | B |\n|---|---|\n| `a<b` | c |\n"), []string{"errors", "security"})
	const want = "<h1 id=\"title\">Title</h1>\n" +
		"<p>See <a href=\"/docs/errors\">errors</a>, a <em>file</em>, <a href=\"#b\">below</a>,\n" +
		"<a href=\"/docs/security\">Security</a>, a plan, http://localhost:3000 and <!-- raw HTML omitted -->.</p>\n" +
		"<table>\n<thead>\n<tr>\n<th>A</th>\n<th>B</th>\n</tr>\n</thead>\n" +
		"<tbody>\n<tr>\n<td><code>a&lt;b</code></td>\n<td>c</td>\n</tr>\n</tbody>\n</table>\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
}
