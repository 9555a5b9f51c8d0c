package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/idp/internal/testworld"
	"herald/shared/fault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

func typeOf(kind idpv1.DirectoryTenantType) *idpv1.DirectoryTenant {
	return &idpv1.DirectoryTenant{TenantType: kind.Enum()}
}

func TestProviderIsCreatedReadChangedAndRemoved(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	made, err := w.CreateDirectoryIdp(w.InA, &idpv1.CreateDirectoryIdpRequest{
		Name: " Company ", ClientId: " herald ", ClientSecret: "the secret",
		Tenant:        &idpv1.DirectoryTenant{TenantId: new("Example.com")},
		EmailVerified: true, Scopes: []string{"openid", "User.Read"},
		ProviderOptions: &idpv1.IdpProviderOptions{IsLinkingAllowed: true, IsAutoUpdate: true},
	})
	w.Must(made, err)
	want := &idpv1.Idp{
		Id: made.Id, Details: made.Details, State: idpv1.IdpState_IDP_STATE_INACTIVE, Name: "Company",
		Type: idpv1.IdpType_IDP_TYPE_DIRECTORY, RedirectUri: "http://localhost:8080/ui/login/externalidp/callback",
		Directory: &idpv1.DirectoryConfig{
			ClientId: "herald", Tenant: &idpv1.DirectoryTenant{TenantId: new("example.com")}, EmailVerified: true,
			Scopes: []string{"openid", "User.Read"},
		},
		ProviderOptions: &idpv1.IdpProviderOptions{IsLinkingAllowed: true, IsAutoUpdate: true},
	}
	testkit.Equal(t, w.Get(made.Id), want)
	if got := w.SecretOf(made.Id); got != "the secret" {
		t.Errorf("the secret is %q", got)
	}

	// Missing name, client id and secret stay. All other missing fields get their defaults.
	changed, err := w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{Id: made.Id})
	w.Must(changed, err)
	testkit.Equal(t, changed.Details, &heraldv1.ObjectDetails{
		Sequence: changed.Details.Sequence, ChangeDate: changed.Details.ChangeDate, ResourceOwner: "org-a",
	})
	if changed.Details.Sequence <= made.Details.Sequence {
		t.Errorf("the change %v has no later sequence than %v", changed, made)
	}
	want.Details.Sequence, want.Details.ChangeDate = changed.Details.Sequence, changed.Details.ChangeDate
	want.Directory = &idpv1.DirectoryConfig{ClientId: "herald", Tenant: typeOf(0),
		Scopes: []string{"openid", "profile", "email"}}
	want.ProviderOptions = &idpv1.IdpProviderOptions{}
	testkit.Equal(t, w.Get(made.Id), want)
	w.Event(made.Id, &idpv1.IdpChanged{Changed: []string{"tenant", "emailVerified", "scopes", "providerOptions"}})

	w.Must(w.RemoveIdp(w.InA, &idpv1.IdpRequest{Id: made.Id}))
	_, err = w.GetIdp(w.InA, &idpv1.IdpRequest{Id: made.Id})
	refused(t, err, "IDP_NOT_FOUND")
	if w.Rows("idps") != 0 {
		t.Error("the provider is still there")
	}
	w.Event(made.Id, &idpv1.IdpRemoved{})
}

func TestUpdateWithoutADifferenceWritesNothing(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Directory(w.InA, "Company")
	before, details := w.Rows("events"), w.Get(id).Details
	details.CreationDate = nil
	for _, r := range []*idpv1.UpdateDirectoryIdpRequest{
		{},
		{Name: new("Company")},
		{Name: new("  Company "), ClientId: new("herald"), ClientSecret: "of Company"},
		{ClientSecret: "  "},
		{Tenant: &idpv1.DirectoryTenant{}, ProviderOptions: &idpv1.IdpProviderOptions{}},
		{Tenant: typeOf(idpv1.DirectoryTenantType_DIRECTORY_TENANT_TYPE_COMMON)},
		{Tenant: &idpv1.DirectoryTenant{TenantType: idpv1.DirectoryTenantType(2).Enum(), TenantId: new("COMMON")}},
		{Scopes: []string{"openid", "profile", "email"}},
	} {
		t.Run(r.String(), func(t *testing.T) {
			r.Id = id
			got, err := w.UpdateDirectoryIdp(w.InA, r)
			w.Must(got, err)
			testkit.Equal(t, got.Details, details)
		})
	}
	if w.Rows("events") != before || w.SecretOf(id) != "of Company" {
		t.Error("something was written")
	}
}

func TestSecretChangesOnlyIfTheRequestHasOne(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Directory(w.InA, "Company")
	for _, c := range []struct{ sent, want string }{
		{"", "of Company"}, {"another", "another"}, {"", "another"}, {" padded ", "padded"},
	} {
		w.Must(w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{Id: id,
			ClientSecret: c.sent}))
		if got := w.SecretOf(id); got != c.want {
			t.Errorf("after %q it is %q", c.sent, got)
		}
	}
}

// Values that are refused, on both methods if both have the field.
func TestWrongFieldsAreRefused(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Directory(w.InA, "Company")
	before := w.Rows("events")
	long := strings.Repeat("ß", 201)
	for field, bad := range map[string][]string{
		"name":         {"", "  ", long, "a\nb", "a\x00b", "safe\u202egnp.exe", "Com\u200bpany"},
		"clientId":     {"", " \t", long, "a\r\nb"},
		"clientSecret": {long, "a\nb", "a\x7fb"},
		"scopes[0]":    {"", " ", "a b", "a\"b", "a\\b", strings.Repeat("a", 101), "ä", "a\n"},
	} {
		for _, value := range bad {
			create := &idpv1.CreateDirectoryIdpRequest{Name: "Other", ClientId: "herald", ClientSecret: "secret"}
			update := &idpv1.UpdateDirectoryIdpRequest{Id: id}
			switch field {
			case "name":
				create.Name, update.Name = value, &value
			case "clientId":
				create.ClientId, update.ClientId = value, &value
			case "clientSecret":
				create.ClientSecret, update.ClientSecret = value, value
			default:
				create.Scopes, update.Scopes = []string{value}, []string{value}
			}
			t.Run(fmt.Sprintf("%s %.20q", field, value), func(t *testing.T) {
				_, err := w.CreateDirectoryIdp(w.InA, create)
				refused(t, err, "INVALID_ARGUMENT", field)
				_, err = w.UpdateDirectoryIdp(w.InA, update)
				refused(t, err, "INVALID_ARGUMENT", field)
			})
		}
	}
	for _, value := range []string{"", " "} {
		_, err := w.CreateDirectoryIdp(w.InA, &idpv1.CreateDirectoryIdpRequest{
			Name: "Other", ClientId: "herald", ClientSecret: value,
		})
		refused(t, err, "INVALID_ARGUMENT", "clientSecret")
	}
	_, err := w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{
		Id: id, Scopes: slices.Repeat([]string{"a"}, 21),
	})
	refused(t, err, "INVALID_ARGUMENT", "scopes")
	_, err = w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{Id: id, Tenant: typeOf(3)})
	refused(t, err, "INVALID_ARGUMENT", "tenant.tenantType")
	for _, tenant := range []string{"", "..", "a/b", strings.Repeat("a", 254)} {
		_, err = w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{
			Id: id, Tenant: &idpv1.DirectoryTenant{TenantId: &tenant},
		})
		refused(t, err, "IDP_TENANT_INVALID", "tenant.tenantId")
	}
	if w.Rows("events") != before || w.Rows("idps") != 1 {
		t.Error("a refusal wrote something")
	}

	// The maximum length is counted in characters.
	edge := long[:400]
	if _, err := w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{
		Id: id, Name: &edge, ClientId: &edge, ClientSecret: edge,
		Scopes: slices.Repeat([]string{strings.Repeat("a", 100)}, 20),
	}); err != nil || w.Get(id).Name != edge || w.SecretOf(id) != edge {
		t.Errorf("%v: %v", err, w.Get(id))
	}
}

func TestProviderIsDeactivatedAndReactivated(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Directory(w.InA, "Company")
	ask := &idpv1.IdpRequest{Id: id}
	_, err := w.ReactivateIdp(w.InA, ask)
	refused(t, err, "IDP_NOT_INACTIVE")
	off, err := w.DeactivateIdp(w.InA, ask)
	w.Must(off, err)
	if got := w.Get(id); got.State != idpv1.IdpState_IDP_STATE_INACTIVE ||
		got.Details.Sequence != off.Details.Sequence {
		t.Errorf("%v, answered %v", got, off)
	}
	_, err = w.DeactivateIdp(w.InA, ask)
	refused(t, err, "IDP_NOT_ACTIVE")
	if fault.From(err).Code != fault.Precondition {
		t.Error(err)
	}
	if _, err := w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{Id: id,
		Name: new("Other")}); err != nil || w.Get(id).State != idpv1.IdpState_IDP_STATE_INACTIVE {
		t.Errorf("changed while inactive: %v", err)
	}
	if _, err := w.ReactivateIdp(w.InA, ask); err != nil || w.Get(id).State != idpv1.IdpState_IDP_STATE_ACTIVE {
		t.Error(err)
	}
}

func TestSearchFindsProvidersByNameAndState(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	names := []string{"Straße", "dir_1", "Dir%", "DIR", "subdir"}
	ids := make([]string, len(names))
	for i, name := range names {
		ids[i] = w.Directory(w.InA, name)
	}
	w.Directory(w.InB, "dir_1")
	w.Must(w.DeactivateIdp(w.InA, &idpv1.IdpRequest{Id: ids[1]}))
	name := func(text string, method heraldv1.TextQueryMethod) *idpv1.IdpFilter {
		return &idpv1.IdpFilter{NameQuery: &idpv1.IdpNameQuery{Name: text, Method: method}}
	}
	state := func(s idpv1.IdpState) *idpv1.IdpFilter {
		return &idpv1.IdpFilter{StateQuery: &idpv1.IdpStateQuery{State: s}}
	}
	for label, c := range map[string]struct {
		filters []*idpv1.IdpFilter
		want    []int
	}{
		"all":                   {nil, []int{4, 3, 2, 1, 0}},
		"equals":                {[]*idpv1.IdpFilter{name("DIR", 0)}, []int{3}},
		"equals ignoring case":  {[]*idpv1.IdpFilter{name("sTRASSE", 1)}, []int{0}},
		"starts ignoring case":  {[]*idpv1.IdpFilter{name("dir", 3)}, []int{3, 2, 1}},
		"contains":              {[]*idpv1.IdpFilter{name("ir", 4)}, []int{4, 2, 1}},
		"ends":                  {[]*idpv1.IdpFilter{name("dir", 6)}, []int{4}},
		"percent":               {[]*idpv1.IdpFilter{name("%", 4)}, []int{2}},
		"quote":                 {[]*idpv1.IdpFilter{name("' or '1'='1", 4)}, nil},
		"active":                {[]*idpv1.IdpFilter{state(1)}, []int{4, 3, 2, 0}},
		"inactive of that name": {[]*idpv1.IdpFilter{state(2), name("dir", 3)}, []int{1}},
		"both in one, that fail": {
			[]*idpv1.IdpFilter{{NameQuery: name("DIR", 0).NameQuery, StateQuery: state(2).StateQuery}}, nil,
		},
	} {
		t.Run(label, func(t *testing.T) {
			for _, asc := range []bool{false, true} {
				var want []string
				for _, n := range c.want {
					want = append(want, ids[n])
				}
				if asc {
					slices.Reverse(want)
				}
				got, err := w.SearchIdps(w.InA, &idpv1.SearchIdpsRequest{
					Query: &heraldv1.ListQuery{Asc: asc, Limit: 2, Offset: 0}, Queries: c.filters,
				})
				var found []string
				for _, i := range got.GetResult() {
					found = append(found, i.Id)
				}
				if err != nil || !slices.Equal(found, want[:min(2, len(want))]) ||
					got.Details.TotalResult != uint64(len(want)) {
					t.Errorf("%v, %v", got, err)
				}
			}
		})
	}
	_, err := w.SearchIdps(w.InA, &idpv1.SearchIdpsRequest{Queries: []*idpv1.IdpFilter{{}}})
	refused(t, err, "INVALID_ARGUMENT", "queries[0]")
	_, err = w.SearchIdps(w.InA, &idpv1.SearchIdpsRequest{Queries: []*idpv1.IdpFilter{state(0)}})
	refused(t, err, "INVALID_ARGUMENT", "state")
	_, err = w.SearchIdps(w.InA, &idpv1.SearchIdpsRequest{Query: &heraldv1.ListQuery{Limit: 1001}})
	refused(t, err, "LIMIT_EXCEEDED", "1000")
}

func TestOnlyItsOrganizationReadsTheHistoryOfAProvider(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Directory(w.InA, "Company")
	w.Directory(w.InA, "Other")
	w.Must(w.DeactivateIdp(w.InA, &idpv1.IdpRequest{Id: id}))
	w.Must(w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{Id: id,
		ClientSecret: "another"}))
	got, err := w.SearchIdpChanges(w.InA, &idpv1.SearchIdpChangesRequest{Id: id})
	w.Must(got, err)
	var changes []string
	for _, c := range got.Result {
		changes = append(changes, fmt.Sprint(c.EventType, c.EditorId, c.ObjectId, c.Data.AsMap()))
	}
	want := []string{
		fmt.Sprint("idp.changed", "user-org-a", id, map[string]any{"changed": []any{"clientSecret"}}),
		fmt.Sprint("idp.deactivated", "user-org-a", id, map[string]any{}),
		fmt.Sprint("idp.reactivated", "user-org-a", id, map[string]any{}),
		fmt.Sprint("idp.created", "user-org-a", id, map[string]any{}),
	}
	if !slices.Equal(changes, want) || got.Details.TotalResult != 4 {
		t.Errorf("changes %q, want %q", changes, want)
	}
	_, err = w.SearchIdpChanges(w.InB, &idpv1.SearchIdpChangesRequest{Id: id})
	refused(t, err, "IDP_NOT_FOUND")
}

// The services users and auth can read the providers of an organization, but no client secret.
func TestServicesReadProvidersOfOneOrganization(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, off, foreign := w.Directory(w.InA, "Company"), w.Directory(w.InA, "Off"), w.Directory(w.InB, "Foreign")
	w.Must(w.DeactivateIdp(w.InA, &idpv1.IdpRequest{Id: off}))
	ask := &idpv1.ResolveIdpsRequest{OrgId: "org-a", IdpIds: []string{id, off, foreign, "nowhere", id, ""}}
	for _, service := range []string{"users", "auth"} {
		t.Run(service, func(t *testing.T) {
			got, err := idpv1.NewIdpsClient(testkit.Calls(t, w.Ground, service)).ResolveIdps(t.Context(), ask)
			if err != nil || len(got.Idps) != 2 {
				t.Fatalf("%v, %v", got, err)
			}
			slices.SortFunc(got.Idps, func(a, b *idpv1.Idp) int { return strings.Compare(a.Id, b.Id) })
			testkit.Equal(t, got.Idps[0], w.Get(id))
			testkit.Equal(t, got.Idps[1], w.Get(off))
		})
	}
	got, err := idpv1.NewIdpsClient(testkit.Calls(t, w.Ground, "users")).ResolveIdps(t.Context(),
		&idpv1.ResolveIdpsRequest{OrgId: "org-a"})
	if err != nil || len(got.Idps) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// The end of a client secret is what the administrator says, and is listed until it is over.
func TestClientSecretExpires(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	end := time.Now().Add(100 * time.Hour).Truncate(time.Microsecond)
	made, err := w.CreateDirectoryIdp(w.InA, &idpv1.CreateDirectoryIdpRequest{
		Name: "Company", ClientId: "herald", ClientSecret: "s", ClientSecretExpiration: timestamppb.New(end),
	})
	w.Must(made, err)
	if got := w.Get(made.Id).ClientSecretExpiration.AsTime(); !got.Equal(end) {
		t.Errorf("it ends at %s, want %s", got, end)
	}
	listed := func(change func(*heraldv1.ReadExpirationsRequest)) []*heraldv1.Expiration {
		t.Helper()
		r := &heraldv1.ReadExpirationsRequest{Until: timestamppb.New(end), Limit: 10, OrgId: "org-a",
			Kinds: []heraldv1.ExpirationKind{heraldv1.ExpirationKind_EXPIRATION_KIND_PROVIDER_SECRET}}
		change(r)
		got, err := idpv1.NewIdpsClient(testkit.Calls(t, w.Ground, "users")).ReadExpirations(t.Context(), r)
		w.Must(got, err)
		return got.Result
	}
	all := listed(func(*heraldv1.ReadExpirationsRequest) {})
	if len(all) != 1 {
		t.Fatalf("%v", all)
	}
	testkit.Equal(t, all[0], &heraldv1.Expiration{
		Kind: heraldv1.ExpirationKind_EXPIRATION_KIND_PROVIDER_SECRET, Id: made.Id, Name: "Company",
		OrganizationId: "org-a", ExpirationDate: timestamppb.New(end),
	})
	before := timestamppb.New(end.Add(-time.Second))
	for name, change := range map[string]func(*heraldv1.ReadExpirationsRequest){
		"later":                func(r *heraldv1.ReadExpirationsRequest) { r.Until = before },
		"another organization": func(r *heraldv1.ReadExpirationsRequest) { r.OrgId = "org-b" },
		"another kind":         func(r *heraldv1.ReadExpirationsRequest) { r.Kinds = nil },
	} {
		if got := listed(change); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := listed(func(r *heraldv1.ReadExpirationsRequest) { r.OrgId = "" }); len(got) != 1 {
		t.Errorf("of all organizations: %v", got)
	}

	w.Must(w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{Id: made.Id}))
	w.Event(made.Id, &idpv1.IdpChanged{Changed: []string{"clientSecretExpiration"}})
	if got := listed(func(*heraldv1.ReadExpirationsRequest) {}); len(got) != 0 {
		t.Errorf("nobody knows the end, and it is listed: %v", got)
	}
}
