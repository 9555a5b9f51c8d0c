package domain

import "strings"

// named is a part of a header User-Agent and what it means.
type named struct{ part, name string }

// browsers and systems are in the order in which they are looked for: most browsers also claim to be others.
var (
	browsers = []named{
		{"Edg", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"},
		{"FxiOS/", "Firefox"}, {"CriOS/", "Chrome"}, {"Chromium/", "Chromium"}, {"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
	}
	systems = []named{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"CrOS", "ChromeOS"},
		{"Mac OS X", "macOS"}, {"Linux", "Linux"},
	}
)

// maxUnknown is how much is shown of a browser that is not known.
const maxUnknown = 60

// Browser returns a short name for a browser by its header User-Agent, such as "Firefox, Linux". For one that is not
// known it is the beginning of the header, or a dash without a header.
func Browser(agent string) string {
	agent = strings.TrimSpace(agent)
	browser, system := first(browsers, agent), first(systems, agent)
	switch {
	case browser != "" && system != "":
		return browser + ", " + system
	case browser != "":
		return browser
	case agent == "":
		return "–"
	}
	return strings.ToValidUTF8(agent[:min(len(agent), maxUnknown)], "")
}

func first(all []named, agent string) string {
	for _, one := range all {
		if strings.Contains(agent, one.part) {
			return one.name
		}
	}
	return ""
}
