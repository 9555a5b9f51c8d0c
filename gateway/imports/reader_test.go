package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"herald/shared/fault"
)

// said returns a row as a text: its number, organization, kind, JSON and fault.
func said(r Row) string {
	kind := "human"
	if r.Machine {
		kind = "machine"
	}
	if r.Number == 0 {
		kind = "org"
	}
	text := fmt.Sprintf("%d %s %s %s", r.Number, r.OrgID, kind, r.JSON)
	if r.Org != nil {
		text += " in " + string(r.Org)
	}
	if r.Err != nil {
		text += " " + fault.From(r.Err).ID
	}
	return text
}

func read(from io.Reader, lines bool) (rows []string, timeout time.Duration, err error) {
	b := Body{
		Lines: lines, Timeout: func(d time.Duration) { timeout = d },
		Row: func(r Row) error { rows = append(rows, said(r)); return nil },
	}
	err = b.Read(from)
	return rows, timeout, err
}

var shapes = map[string]struct {
	body  string
	lines bool
	rows  []string
	fault string
	says  string
}{
	"empty":            {body: ""},
	"nothing":          {body: " {} \n"},
	"null":             {body: `{"dataOrgs":null,"timeout":null}`},
	"no organizations": {body: `{"dataOrgs":{"orgs":[]}}`},
	"names of the proto": {
		body: `{"data_orgs":{"orgs":[{"org_id":"o","human_users":[{"a":1}]}]}}`, rows: []string{`1 o human {"a":1}`},
	},
	"two organizations": {
		body: `{"dataOrgs":{"orgs":[{"orgId":"o","humanUsers":[{"a":"]}"},[ ],"x",1 ]},` +
			`{"orgId":"p","machineUsers":[{}],"humanUsers":null}]}}`,
		rows: []string{`1 o human {"a":"]}"}`, `2 o human [ ]`, `3 o human "x"`, `4 o human 1`, `5 p machine {}`},
	},
	"unknown": {
		body: `{"x":[{"y":"\"}"}],"dataOrgs":{"z":1,"orgs":[{"n":null,"orgId":"o","humanUsers":[{}],"m":{}}]},` +
			`"w":-1.5}`,
		rows: []string{`1 o human {}`},
	},
	"a misspelled root":     {body: `{"timeout":"1m","dataOrg":{"orgs":[]}}`, fault: "IMPORT_DATA_MISSING"},
	"a misspelled list":     {body: `{"dataOrgs":{"org":[{"orgId":"o"}]}}`, fault: "IMPORT_DATA_MISSING"},
	"nothing but a timeout": {body: `{"timeout":"1m"}`},
	"users before their organization": {
		body: `{"dataOrgs":{"orgs":[{"humanUsers":[{"a":1}],"machineUsers":[{"b":2}],"orgId":"o",` +
			`"org":{"name":"O"}}]}}`,
		rows: []string{`1 o human {"a":1}`, `2 o machine {"b":2}`, `0 o org  in {"name":"O"}`},
	},
	"organization with data": {
		body: `{"dataOrgs":{"orgs":[{"orgId":"o","org":{"name":"O"},"humanUsers":[{}]},{"org":{"name":"P"},` +
			`"orgId":"p"}]}}`,
		rows: []string{`1 o human {} in {"name":"O"}`, `0 p org  in {"name":"P"}`},
	},
	"a byte order mark": {
		body: "\xef\xbb\xbf" + `{"dataOrgs":{"orgs":[{"orgId":"o","humanUsers":[{}]}]}}`,
		rows: []string{`1 o human {}`},
	},
	"a byte order mark before a mistake": {
		body: "\xef\xbb\xbf[]", fault: "JSON_MALFORMED", says: "line 1, column 1 (byte 3)",
	},
	"a byte order mark before lines": {
		lines: true, body: "\xef\xbb\xbf" + `{"orgId":"o","userId":"u"}`,
		rows: []string{`1 o human {"orgId":"o","userId":"u"}`},
	},
	"two byte order marks": {body: "\xef\xbb\xbf\xef\xbb\xbf{}", fault: "JSON_MALFORMED"},
	"a byte":               {body: "\xef", fault: "JSON_MALFORMED"},
	"no id": {
		body: `{"dataOrgs":{"orgs":[{"humanUsers":[{},{}]},{"orgId":"o","humanUsers":[{}]}]}}`,
		rows: []string{`1  human {} IMPORT_ORG_REQUIRED`, `2  human {} IMPORT_ORG_REQUIRED`, `3 o human {}`},
	},
	"a user too large": {
		body: `{"dataOrgs":{"orgs":[{"orgId":"o","humanUsers":["` + strings.Repeat("x", maxValue) + `",{}]}]}}`,
		rows: []string{`1 o human  IMPORT_ROW_TOO_LARGE`, `2 o human {}`},
	},
	"truncated in a user": {
		body: `{"dataOrgs":{"orgs":[{"orgId":"o","humanUsers":[{},{"a":`, rows: []string{`1 o human {}`},
		fault: "IMPORT_BROKEN_OFF", says: "line 1, column 57 (byte 56)",
	},
	"truncated after a user": {
		body: "{\"dataOrgs\":{\"orgs\":[{\"orgId\":\"o\",\n\"humanUsers\":[{}", rows: []string{`1 o human {}`},
		fault: "IMPORT_BROKEN_OFF", says: "line 2, column 17",
	},
	"truncated at the end": {
		body: `{"dataOrgs":{"orgs":[{"orgId":"o","humanUsers":[{}]}]}`, rows: []string{`1 o human {}`},
		fault: "IMPORT_BROKEN_OFF",
	},
	"more after the end": {body: `{} {}`, fault: "JSON_MALFORMED", says: "column 4"},
	"no object":          {body: `[]`, fault: "JSON_MALFORMED"},
	"a wrong bracket": {
		body: `{"dataOrgs":{"orgs":[{"orgId":"o","humanUsers":[{}}]}]}`, rows: []string{`1 o human {}`},
		fault: "JSON_MALFORMED", says: "column 51",
	},
	"a comma too many": {body: `{"a":1,}`, fault: "JSON_MALFORMED"},
	"no comma":         {body: `{"a":1 "b":2}`, fault: "JSON_MALFORMED"},
	"no value":         {body: `{"a":}`, fault: "JSON_MALFORMED"},
	"no JSON":          {body: `{"a":nothing}`, fault: "JSON_MALFORMED"},
	"a name twice":     {body: `{"dataOrgs":{},"data_orgs":{}}`, fault: "JSON_MALFORMED"},
	"an escaped name":  {body: `{"a":1,"\u0061":1}`, fault: "JSON_MALFORMED"},
	"a name that is no text": {
		body: `{1:2}`, fault: "JSON_MALFORMED",
	},
	"many names":       {body: `{` + strings.Repeat(`"`, 0) + manyNames(maxNames+1) + `}`, fault: "JSON_MALFORMED"},
	"too much unknown": {body: `{"a":"` + strings.Repeat("x", maxValue) + `"}`, fault: "JSON_MALFORMED"},
	"too much space":   {body: `{` + strings.Repeat(" ", 2*maxSpace+chunk) + `}`, fault: "JSON_MALFORMED"},
	"orgs that are no list": {
		body: `{"dataOrgs":{"orgs":{}}}`, fault: "INVALID_ARGUMENT", says: "dataOrgs.orgs: must be a list",
	},
	"data that is no object": {body: `{"dataOrgs":[]}`, fault: "INVALID_ARGUMENT", says: "dataOrgs: must be an object"},
	"id that is no text":     {body: `{"dataOrgs":{"orgs":[{"orgId":1}]}}`, fault: "INVALID_ARGUMENT", says: "orgId"},
	"timeout that is none":   {body: `{"timeout":"soon"}`, fault: "IMPORT_TIMEOUT_INVALID"},
	"no time":                {body: `{"timeout":"0s"}`, fault: "IMPORT_TIMEOUT_INVALID"},
	"two days":               {body: `{"timeout":"48h"}`, fault: "IMPORT_TIMEOUT_INVALID"},
	"lines": {
		lines: true,
		body: `{"orgId":"o","userId":"a","user":{}}` + "\n\n" + `{"userId":"b","user":{},"orgId":"p"}` + "\r\n" +
			`nothing` + "\n" + `{"user":{}}` + "\n" + `{"orgId":"o","humanUsers":[{},1],"org":{}}` + "\n" +
			`{"orgId":"q","org":{"name":"Q"}}` + "\n" + `{"orgId":2,"user":{}}` + "\n" + `{"orgId":"o","user":`,
		rows: []string{
			`1 o human {"orgId":"o","userId":"a","user":{}}`, `2 p human {"userId":"b","user":{},"orgId":"p"}`,
			`3  human nothing JSON_MALFORMED`, `4  human {"user":{}} IMPORT_ORG_REQUIRED`,
			`5 o human {}`, `6 o human 1`, `0 o org  in {}`,
			`0 q org  in {"name":"Q"}`, `7  human {"orgId":2,"user":{}} INVALID_ARGUMENT`,
			`8  human {"orgId":"o","user": JSON_MALFORMED`,
		},
	},
	"a line too large": {
		lines: true, body: strings.Repeat("x", maxValue+1) + "\n" + `{"orgId":"o","user":{}}`,
		rows: []string{`1  human  IMPORT_ROW_TOO_LARGE`, `2 o human {"orgId":"o","user":{}}`},
	},
}

func manyNames(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf(`"a%d":1`, i))
	}
	return strings.Join(names, ",")
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range shapes {
		whole := strings.NewReader(c.body)
		readers := []io.Reader{whole}
		if len(c.body) < 10_000 {
			readers = append(readers, iotest.OneByteReader(strings.NewReader(c.body)),
				iotest.DataErrReader(strings.NewReader(c.body)))
		}
		for _, from := range readers {
			rows, _, err := read(from, c.lines)
			if !reflect.DeepEqual(rows, c.rows) {
				t.Errorf("%s: read %q, want %q", name, rows, c.rows)
			}
			f, _ := errors.AsType[*fault.Fault](err)
			if (err == nil) != (c.fault == "") || err != nil && (f == nil || f.ID != c.fault ||
				!strings.Contains(f.Message, c.says)) {
				t.Errorf("%s: %v, want %s", name, err, c.fault)
			}
		}
	}
}

func TestReadTimeout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30m0s": 30 * time.Minute, "1800s": 30 * time.Minute, "24h": 24 * time.Hour, "1.5h": 90 * time.Minute, "": 0,
	} {
		t.Run(text, func(t *testing.T) {
			if _, got, err := read(strings.NewReader(`{"dataOrgs":{},"timeout":"`+text+`"}`), false); got != want ||
				err != nil {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// Users who come before the id of their organization can be more than fit in memory.
func TestManyUsersWaitForTheirOrganization(t *testing.T) {
	t.Parallel()
	const n = 20_000
	var body bytes.Buffer
	body.WriteString(`{"dataOrgs":{"orgs":[{"humanUsers":[`)
	for i := range n {
		fmt.Fprintf(&body, `{"userId":"%d","user":{"userName":"%0100d"}},`, i, i)
	}
	body.WriteString(`{}],"orgId":"o"}]}}`)
	got := 0
	b := Body{Place: Place{Folder: t.TempDir()}, Row: func(r Row) error {
		var u struct{ UserID string }
		if err := json.Unmarshal(r.JSON, &u); err != nil || r.OrgID != "o" || got < n && u.UserID != fmt.Sprint(got) {
			t.Fatalf("row %d is %s", got, r.JSON)
		}
		got++
		return nil
	}}
	if err := b.Read(&body); err != nil || got != n+1 {
		t.Errorf("%d rows, %v", got, err)
	}
}

// FuzzRead checks that Read returns only faults, and for valid JSON the rows that encoding/json
// finds.
func FuzzRead(f *testing.F) {
	for _, c := range shapes {
		if len(c.body) < 10_000 {
			f.Add([]byte(c.body), c.lines)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, lines bool) {
		var rows []string
		b := Body{Lines: lines, Timeout: func(time.Duration) {}, Row: func(r Row) error {
			rows = append(rows, string(r.JSON))
			if len(r.JSON) == 0 && r.Err == nil && r.Number > 0 || len(r.JSON) > maxValue {
				t.Fatalf("%q gave the row %s", body, said(r))
			}
			return nil
		}}
		err := b.Read(bytes.NewReader(body))
		if fault, ok := errors.AsType[*fault.Fault](err); err != nil && (!ok || fault.HTTPStatus() != 400) {
			t.Fatalf("%q: %v", body, err)
		}
		if lines || err != nil {
			return
		}
		// Maps, because encoding/json does not distinguish upper and lower case in the names of a struct's fields.
		var whole map[string]json.RawMessage
		var data map[string]json.RawMessage
		var orgs []map[string]json.RawMessage
		if bytes.Contains(body, []byte("_")) || json.Unmarshal(body, &whole) != nil ||
			json.Unmarshal(whole["dataOrgs"], &data) != nil || json.Unmarshal(data["orgs"], &orgs) != nil {
			return
		}
		all := strings.Join(rows, "\n") + "\n"
		for _, o := range orgs {
			var humans []json.RawMessage
			if json.Unmarshal(o["humanUsers"], &humans) != nil {
				continue
			}
			for _, u := range humans {
				if !strings.Contains(all, string(u)+"\n") {
					t.Fatalf("%q: the row %s is missing", body, u)
				}
			}
		}
	})
}
