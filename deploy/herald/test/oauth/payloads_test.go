package oauth_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// payloads are texts by which somebody tries to get a script, an element or a style into a page or a mail. A script of
// theirs calls hit, which does nothing but tell the test.
var payloads = []string{
	`<script>hit()</script>`,
	`<SCRIPT>hit()</SCRIPT>`,
	`<script src=//evil.example/1.js></script>`,
	`<scr<script>ipt>hit()</scr</script>ipt>`,
	`<script/x>hit()</script>`,
	`<script>/*`, `*/hit()/*</script>`,
	`"><script>hit()</script>`,
	`'><script>hit()</script>`,
	`</title><script>hit()</script>`,
	`</style><script>hit()</script>`,
	`</textarea><script>hit()</script>`,
	`</noscript><script>hit()</script>`,
	`</bdi></p><script>hit()</script>`,
	`--><script>hit()</script>`,
	`]]><script>hit()</script>`,
	`<!--<img src="--><img src=x onerror=hit()//">`,
	`<img src=x onerror=hit()>`,
	`<img src=x onerror="hit()">`,
	"<img src=x onerror=`hit()`>",
	`<img/src=x/onerror=hit()>`,
	`<img src=x:x onerror=hit()//`,
	`<img """><script>hit()</script>">`,
	`" onmouseover="hit()" x="`,
	`" autofocus onfocus="hit()" x="`,
	`' autofocus onfocus='hit()' x='`,
	`x onfocus=hit() autofocus `,
	"` onfocus=hit() `",
	`"/><svg onload=hit()>`,
	`<svg onload=hit()>`,
	`<svg/onload=hit()>`,
	`<svg><script>hit()</script></svg>`,
	`<svg><animate onbegin=hit() attributeName=x dur=1s>`,
	`<svg><a xlink:href="javascript:hit()"><text y=9>x</text></a></svg>`,
	`<math><mi xlink:href="javascript:hit()">x</mi></math>`,
	`<math><mtext></form><form><mglyph><style></math><img src onerror=hit()>`,
	`<body onload=hit()>`,
	`<details open ontoggle=hit()>x</details>`,
	`<video><source onerror=hit()></video>`,
	`<audio src=x onerror=hit()>`,
	`<input autofocus onfocus=hit()>`,
	`<select autofocus onfocus=hit()></select>`,
	`<marquee onstart=hit()>x</marquee>`,
	`<iframe src=javascript:hit()></iframe>`,
	`<iframe srcdoc="<script>parent.hit()</script>"></iframe>`,
	`<object data=javascript:hit()></object>`,
	`<embed src=javascript:hit()>`,
	`<a href=javascript:hit()>x</a>`,
	`<a href="java&#10;script:hit()">x</a>`,
	`<form action=javascript:hit()><button>x</button></form>`,
	`<base href=//evil.example/>`,
	`<meta http-equiv=refresh content="0;url=//evil.example/">`,
	`<link rel=stylesheet href=//evil.example/1.css>`,
	`<style>@import "//evil.example/1.css";</style>`,
	`<p style="background:url(//evil.example/1.png)">x</p>`,
	`}</style><style>main{display:none}`,
	`#fff;} body{display:none} a{color:red`,
	`red;background:url(//evil.example/)`,
	`expression(hit())`,
	`javascript:hit()`,
	`JaVaScRiPt:hit()`,
	`data:text/html,<script>hit()</script>`,
	`data:text/html;base64,PHNjcmlwdD5oaXQoKTwvc2NyaXB0Pg==`,
	`vbscript:hit()`,
	`&lt;script&gt;hit()&lt;/script&gt;`,
	`&#60;script&#62;hit()&#60;/script&#62;`,
	`%3Cscript%3Ehit()%3C/script%3E`,
	`\x3cscript\x3ehit()\x3c/script\x3e`,
	`\u003cscript\u003ehit()\u003c/script\u003e`,
	`${hit()}`, `#{hit()}`, `<%= hit() %>`, `[[hit()]]`,
	`＜script＞hit()＜/script＞`,
	`ʺ＞‹script›hit()‹/script›`,
	`';hit();//`, `";hit();//`, "`;hit();//", `\";hit();//`,
	"+ADw-script+AD4-hit()+ADw-/script+AD4-",
}

// braces are payloads of template engines. A text of a mail with them is refused, because they name no placeholder.
var braces = []string{
	`{{hit()}}`, `{{constructor.constructor('hit()')()}}`, `{{.}}`, `{{printf "%s" "<script>hit()</script>"}}`,
	`{{range $i, $e := .}}<b>{{end}}`, `{{call .Hit}}`, `{{define "body"}}<script>hit()</script>{{end}}`,
	`{% raw %}<script>hit()</script>{% endraw %}{{`,
}

// turned are payloads with characters that nobody sees, or that turn the text around. No name may have them.
var turned = []string{
	"\u202e>tpircs/<)(tih>tpircs<", "\u2066<script>hit()</script>\u2069", "<scr\u200bipt>hit()</script>",
	"<scr\u00adipt>hit()</script>", "\u200f\"><img src=x onerror=hit()>", "\ufeff<script>hit()</script>",
}

// mostOfName leaves room in a name, which has up to 200 characters, for what makes it unique.
const mostOfName = 190

// names returns texts that can be names and together have all payloads which a name can have.
func names() (all []string) {
	for _, payload := range append(payloads[:len(payloads):len(payloads)], braces...) {
		last := len(all) - 1
		if last >= 0 && utf8.RuneCountInString(all[last]+payload) < mostOfName {
			all[last] += " " + payload
			continue
		}
		all = append(all, payload)
	}
	return all
}

// inJSON returns a text as it stands in a string of JSON.
func inJSON(text string) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(out.String()), `"`), `"`)
}
