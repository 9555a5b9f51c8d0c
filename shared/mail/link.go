package mail

import (
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// filled stands for the value of a placeholder, which can be any word.
const filled = "\ue000"

// label has the characters of domains.
const label = `\pL\pM\pN\pS_\-` + filled

// ideographic are the top-level domains in scripts that end sentences with the ideographic full stop (IANA, 2025).
const ideographic = `中国|中國|香港|台湾|台灣|新加坡|澳門|澳门|公司|网络|網絡|网址|网站|网店|中文网|在线|手机|移动|政务|政府|机构|组织机构|` +
	`公益|慈善|商标|商店|商城|购物|通販|新闻|信息|企业|集团|世界|游戏|娱乐|健康|招聘|时尚|食品|餐厅|书籍|珠宝|家電|广东|佛山|我爱你|` +
	`点看|八卦|大拿|天主教|中信|微博|谷歌|联通|飞利浦|诺基亚|亚马逊|淡马锡|嘉里|嘉里大酒店|香格里拉|大众汽车|电讯盈科|` +
	`みんな|コム|ストア|セール|ポイント|クラウド|ファッション|グーグル|アマゾン|닷컴|닷넷|한국|삼성`

// links matches where mail programs find an address: a dot between the labels of a domain, an @, the colon of a scheme,
// a shared folder, and an IP address. Programs differ, so it matches what any of them may take. Some registries give
// domains of symbols. The ideographic full stop is a dot of domains too, but it ends sentences without a space after
// it. So it counts only before a label in ASCII, and before a whole word that is a top-level domain.
var links = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`[^\s.(){}<>"'\[\]]\.(?:\pL[\pL\pM\pN\-` + filled + `]|` + filled + `)`,
	`[` + label + `]。(?:[a-z][a-z0-9\-` + filled + `]|(?:` + ideographic + `)(?:[^\pL\pM\pN]|$))`,
	`[a-z0-9\-\pS]。` + filled,
	`[^\s]@[^\s]`,
	`[a-z` + filled + `][a-z0-9+.\-]*:[a-z0-9/\\+%?#&(<\[` + filled + `]`, `://`,
	`\\\\`,
	`[0-9]{1,3}(?:\.[0-9]{1,3}){3}`,
}, "|"))

// Link returns the word of a text from which a mail program may make a link, at most 60 characters of it, or "" if
// there is none. Placeholders may be in it, and count as words.
func Link(text string) string {
	text = ExpandPlaceholders(text, func(string) string { return filled })
	text = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
			unicode.IsControl(r) && !strings.ContainsRune("\n\r\t\u0085", r) {
			return -1 // some programs skip what nobody sees, and mails are sent without control characters
		}
		return r
	}, norm.NFKC.String(text))
	found := links.FindStringIndex(text)
	if found == nil {
		return ""
	}
	before := text[:found[0]]
	word := before[len(strings.TrimRightFunc(before, visible)):] + text[found[0]:]
	if end := strings.IndexFunc(word, unicode.IsSpace); end > 0 {
		word = word[:end]
	}
	return excerpt(strings.ReplaceAll(word, filled, "{…}"))
}

func visible(r rune) bool { return !unicode.IsSpace(r) }

// narrowSpace ends a word for all programs that look for links, and people hardly see it. Nobody types it.
const narrowSpace = "\u202f"

// WithoutLinks returns a value of a placeholder from which no mail program makes a link, also together with the words
// of the text around it.
func WithoutLinks(value string) string {
	if Link(filled+value+filled) == "" {
		return value
	}
	var out strings.Builder
	for _, r := range value {
		out.WriteRune(r)
		if strings.ContainsAny(norm.NFKC.String(string(r)), `.:@\。`) {
			out.WriteString(narrowSpace)
		}
	}
	return out.String()
}

// AsTyped returns a name that somebody may have copied from a mail, without what WithoutLinks added.
func AsTyped(name string) string { return strings.ReplaceAll(name, narrowSpace, "") }
