package users_test

import (
	"context"
	"os"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"herald/services/users"
	"herald/shared/boot"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/rpc"
	"herald/shared/secret"
	"herald/shared/testkit"
)

var kit = testkit.New("users", users.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// world is a running users service and those who call it.
type world struct {
	testing.TB
	ground  boot.Ground
	service *boot.Service
	gateway usersv1.UsersClient
	auth    usersv1.UsersClient
	notify  usersv1.UsersClient
	// admin is the context of the first administrator's calls.
	admin   context.Context
	adminID string
	orgID   string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, ground: testkit.Ground(t)}
	w.service = kit.Open(t, w.ground)
	file := t.TempDir() + "/admin.pat"
	if _, err := users.New(t.Context(), w.service, users.Config{PublicURL: "http://localhost:8080", MaxLimit: 1000, TokenFile: file}); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, w.service)
	w.gateway = usersv1.NewUsersClient(testkit.Calls(t, w.ground, "gateway"))
	w.auth = usersv1.NewUsersClient(testkit.Calls(t, w.ground, "auth"))
	w.notify = usersv1.NewUsersClient(testkit.Calls(t, w.ground, "notification"))
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := w.resolve(string(token[:len(token)-1]), "")
	w.admin, w.adminID, w.orgID = testkit.As(t.Context(), w.ground, c), c.UserID, c.OrganizationID
	return w
}

// resolve does what the gateway does with a token.
func (w *world) resolve(token, orgID string) caller.Caller {
	w.Helper()
	r, err := w.gateway.ResolveToken(w.Context(), &usersv1.ResolveTokenRequest{TokenHash: secret.Hash(token), OrgId: orgID})
	if err != nil {
		w.Fatal(err)
	}
	return caller.FromProto(r.Caller)
}

var _ = rpc.MaxDuration
var _ = protojson.Marshal

func TestFirst(t *testing.T) {
	w := newWorld(t)
	r, err := w.gateway.ImportHumanUser(w.admin, &usersv1.ImportHumanUserRequest{UserId: "u1", UserName: "mini", Profile: &usersv1.Profile{FirstName: "M", LastName: "N"}, Email: &usersv1.Email{Email: "a@b.ch"}, OtpCode: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", Metadata: []*usersv1.Metadata{{Key: "a", Value: []byte("b")}}})
	t.Log(r, err)
	r, err = w.gateway.ImportHumanUser(w.admin, &usersv1.ImportHumanUserRequest{UserId: "u1", UserName: "mini", Profile: &usersv1.Profile{FirstName: "M", LastName: "N"}, Email: &usersv1.Email{Email: "a@b.ch"}, OtpCode: "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", Metadata: []*usersv1.Metadata{{Key: "a", Value: []byte("b")}}})
	t.Log(r, err)
	r, err = w.gateway.ImportHumanUser(w.admin, &usersv1.ImportHumanUserRequest{UserId: "u1", UserName: "mini2", Profile: &usersv1.Profile{FirstName: "M", LastName: "N"}, Email: &usersv1.Email{Email: "a@b.ch"}})
	t.Log(r, err)
	s, err := w.gateway.SearchUsers(w.admin, &usersv1.SearchUsersRequest{})
	t.Log(s, err)
	o, err := w.gateway.CreateOrg(w.admin, &usersv1.CreateOrgRequest{Name: " Déjà Vu AG "})
	t.Log(o, err)
	so, err := w.gateway.SearchOrgs(w.admin, &usersv1.SearchOrgsRequest{})
	t.Log(so, err)
	d, err := w.gateway.DeactivateMyOrg(w.admin, &usersv1.DeactivateMyOrgRequest{})
	t.Log(d, err)
	rm, err := w.gateway.RemoveIamMember(w.admin, &usersv1.RemoveMemberRequest{UserId: w.adminID})
	t.Log(rm, err)
}
