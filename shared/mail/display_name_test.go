package mail_test

import (
	"testing"

	"herald/shared/mail"
)

// In some languages the family name comes first, and in some there is no space between names in their own
// script.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ language, first, last, want string }{
		{"", "Ada", "Lovelace", "Ada Lovelace"},
		{"en", "Ada", "Lovelace", "Ada Lovelace"},
		{"hu", "János", "Neumann", "Neumann János"},
		{"hu-HU", "János", "Neumann", "Neumann János"},
		{"ja", "太郎", "山田", "山田 太郎"},
		{"ja-JP", "Taro", "Yamada", "Yamada Taro"},
		{"zh-Hans-CN", "三", "张", "张三"},
		{"zh", "San", "Zhang", "Zhang San"},
		{"ko_KR", "철수", "김", "김철수"},
		{"ko", "Chulsoo", "김", "김 Chulsoo"},
		{"kok", "Asha", "Naik", "Asha Naik"},
	} {
		if got := mail.DisplayName(c.language, c.first, c.last); got != c.want {
			t.Errorf("%s: %q, want %q", c.language, got, c.want)
		}
	}
}
