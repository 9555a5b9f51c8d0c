package tenancy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"herald/deploy/herald/test/whole"
	"herald/shared/contract"
)

// reply is an answer without values that differ from call to call.
type reply struct {
	status       int
	header, body string
}

func (r reply) fault(t *testing.T) *statuspb.Status {
	s := &statuspb.Status{}
	if err := protojson.Unmarshal([]byte(r.body), s); err != nil {
		t.Errorf("%d %s: %v", r.status, r.body, err)
	}
	return s
}

// send sends a request over REST. org is the organization in its header, or empty.
func (w *world) send(token, org, route, body string) reply {
	if org == "" {
		return w.sendIn(nil, token, route, body)
	}
	return w.sendIn(header{org}, token, route, body)
}

func (w *world) sendIn(in header, token, route, body string) reply {
	verb, path, _ := strings.Cut(route, " ")
	r, err := http.NewRequestWithContext(w.t.Context(), verb, w.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Errorf("%s: %v", route, err)
		return reply{}
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header["X-Service-Orgid"] = in
	answer, err := w.client.Do(r)
	if err != nil {
		w.t.Errorf("%s: %v", route, err)
		return reply{}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Errorf("%s: %v", route, err)
	}
	for _, name := range []string{"X-Request-Id", "Traceparent", "Date"} {
		answer.Header.Del(name)
	}
	var header bytes.Buffer
	_ = answer.Header.Write(&header)
	return reply{answer.StatusCode, header.String(), string(text)}
}

// message returns a valid request of a method for an object. It fails the test if a field has no
// value, and says where to add one.
func (w *world) message(m contract.Method, o object) *dynamicpb.Message {
	_, path, _ := contract.Route(m.Rules[0])
	bound := contract.PathFields(path)
	body := map[string]json.RawMessage{}
	id := w.unique()
	for i := range m.Input().Fields().Len() {
		f := m.Input().Fields().Get(i)
		name := string(f.Name())
		value, ok := values[string(m.Name())+"."+name]
		if !ok {
			value, ok = values[name]
		}
		switch named := o.ids[name]; {
		case named != "":
			value = fmt.Sprintf("%q", named)
		case !ok && (slices.Contains(bound, name) || strings.HasSuffix(name, "_id")):
			w.t.Fatalf("no request can be made for %s: what is %s? If it names an object, add the kind to kindOf (and "+
				"the field to references, where it stands in the body); if it is a value, add one to values: both in "+
				"foreign_kinds_test.go", m.FullName(), name)
		case !ok:
			continue
		}
		body[f.JSONName()] = json.RawMessage(strings.ReplaceAll(w.fill(w.own, nil, value), "{id}", id))
	}
	text, _ := json.Marshal(body)
	out := dynamicpb.NewMessage(m.Input())
	if err := protojson.Unmarshal(text, out); err != nil {
		w.t.Fatalf("no request can be made for %s: %s: %v", m.FullName(), text, err)
	}
	if err := contract.Validate(out); err != nil {
		w.t.Fatalf("no request can be made for %s: %s: %v. Add a value that the contract takes to values in "+
			"foreign_kinds_test.go, under \"%s.field\" or the field's name", m.FullName(), text, err, m.Name())
	}
	return out
}

// request is a call of a method for an object, for every protocol.
type request struct {
	message     *dynamicpb.Message
	route, body string
}

func (w *world) request(m contract.Method, o object) request {
	verb, path, _ := contract.Route(m.Rules[0])
	r := request{message: w.message(m, o)}
	body, err := protojson.Marshal(r.message)
	if err != nil {
		w.t.Error(err)
	}
	for _, name := range contract.PathFields(path) {
		value := r.message.Get(m.Input().Fields().ByName(protoreflect.Name(name))).String()
		path = strings.Replace(path, "{"+name+"}", url.PathEscape(value), 1)
	}
	if verb == http.MethodGet && m.Name() == "IsUserUnique" {
		path += "?userName=" + w.unique()
	}
	r.route, r.body = verb+" "+path, string(body)
	return r
}

// rest makes a call over REST.
func (w *world) rest(a attempt, r request) reply {
	return w.sendIn(a.header, a.token, r.route, r.body)
}

// grpc makes a call over gRPC.
func (w *world) grpc(a attempt, r request) *statuspb.Status {
	ctx := w.t.Context()
	if a.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+a.token)
	}
	for _, org := range a.header {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-service-orgid", org)
	}
	return grpcstatus.Convert(w.conn.Invoke(ctx, a.Procedure(), r.message, dynamicpb.NewMessage(a.Output()))).Proto()
}

// connect makes a call over Connect, or over the protocol that an option sets.
func (w *world) connect(a attempt, r request, options ...connect.ClientOption) *statuspb.Status {
	client := connect.NewClient[dynamicpb.Message, dynamicpb.Message](w.client, w.URL+a.Procedure(),
		append(options, whole.Described(a.MethodDescriptor)...)...)
	asked := connect.NewRequest(r.message)
	if a.token != "" {
		asked.Header().Set("Authorization", "Bearer "+a.token)
	}
	asked.Header()["X-Service-Orgid"] = a.header
	if _, err := client.CallUnary(w.t.Context(), asked); err != nil {
		return whole.ConnectStatus(err)
	}
	return &statuspb.Status{}
}
