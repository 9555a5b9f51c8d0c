package inbox

import (
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

const (
	pageSize    = 50
	maxPageSize = 1000
)

// list is the answer to messages and search. Count is the number of mails in it, MessagesCount of
// those that match, Total of all.
type list struct {
	Total          int        `json:"total"`
	Unread         int        `json:"unread"`
	Count          int        `json:"count"`
	MessagesCount  int        `json:"messages_count"`
	MessagesUnread int        `json:"messages_unread"`
	Start          int        `json:"start"`
	Tags           []string   `json:"tags"`
	Messages       []*Summary `json:"messages"`
	Repeats        int        `json:"repeats"`
}

// Handler serves the page at / and Mailpit's REST API below /api/v1/. It refuses requests whose
// Host is not a loopback name, so that a web site whose name resolves to this machine cannot read
// the mails.
func (in *Inbox) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/messages", func(w http.ResponseWriter, r *http.Request) { reply(w, in.list(r, "")) })
	mux.HandleFunc("GET /api/v1/search", func(w http.ResponseWriter, r *http.Request) {
		reply(w, in.list(r, r.FormValue("query")))
	})
	mux.HandleFunc("DELETE /api/v1/messages", in.deleteMessages)
	mux.HandleFunc("GET /api/v1/message/{id}", in.withMail(func(w http.ResponseWriter, _ *http.Request, m Mail) {
		if m.Date.IsZero() {
			m.Date = m.Created
		}
		reply(w, m)
	}))
	mux.HandleFunc("GET /api/v1/message/{id}/headers",
		in.withMail(func(w http.ResponseWriter, _ *http.Request, m Mail) {
			reply(w, m.header)
		}))
	mux.HandleFunc("GET /api/v1/message/{id}/raw", in.withMail(func(w http.ResponseWriter, _ *http.Request, m Mail) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write(m.raw)
	}))
	in.mountPages(mux)
	return guard(http.NewCrossOriginProtection().Handler(mux))
}

// guard refuses requests of other web sites and forbids scripts in mails to run.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLoopback(r.Host) {
			http.Error(w, "This inbox is for this machine only: open it as http://localhost", http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy",
			"default-src 'none'; style-src 'self'; img-src 'self' data:; frame-src 'self'; "+
				"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether a Host header, with or without a port, names this machine. Names below
// localhost do not count, because some resolvers ask others for them (RFC 6761 section 6.3).
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

// withMail passes on the mail that the path names, by ID or as latest.
func (in *Inbox) withMail(answer func(http.ResponseWriter, *http.Request, Mail)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		m, found := in.find(r.PathValue("id"))
		if !found {
			http.Error(w, "message not found", http.StatusNotFound)
			return
		}
		answer(w, r, m)
	}
}

// list writes the mails from start, at most limit of them. Without valid parameters it writes the
// first 50.
func (in *Inbox) list(r *http.Request, query string) list {
	mails := in.newest("")
	all := list{Total: len(mails), Tags: []string{}}
	for _, m := range mails {
		all.Repeats += m.Repeats
		if !m.Read {
			all.Unread++
		}
	}
	if query != "" {
		mails = in.newest(query)
	}
	all.MessagesCount = len(mails)
	for _, m := range mails {
		if !m.Read {
			all.MessagesUnread++
		}
	}
	all.Start = min(number(r, "start", 0), len(mails))
	limit := min(number(r, "limit", pageSize), maxPageSize, len(mails)-all.Start)
	all.Messages = slices.Clip(mails[all.Start:][:limit])
	all.Count = len(all.Messages)
	return all
}

// number parses a parameter that is a count, and ignores one that is not valid.
func number(r *http.Request, name string, otherwise int) int {
	if n, err := strconv.Atoi(r.FormValue(name)); err == nil && n >= 0 {
		return n
	}
	return otherwise
}

// deleteMessages deletes the mails with the IDs in the body, or all without IDs, as Mailpit does.
func (in *Inbox) deleteMessages(w http.ResponseWriter, r *http.Request) {
	var body struct{ IDs []string }
	if r.ContentLength != 0 {
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxMessage)).Decode(&body); err != nil {
			http.Error(w, `the body is {"IDs": ["..."]}, or nothing to delete all`, http.StatusBadRequest)
			return
		}
	}
	in.empty(body.IDs)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("ok"))
}

func reply(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // fails only when the client has disconnected
}
