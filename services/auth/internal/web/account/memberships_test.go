package account_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/auth/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// membership returns a membership that an organization gave. Its project is the instance for *, and none if it is
// empty.
func membership(id, orgID, project string, s usersv1.MembershipState) *usersv1.Membership {
	m := &usersv1.Membership{Id: id, State: s, Roles: []string{"ORG_OWNER_VIEWER", "ORG_USER_MANAGER"},
		OrgName: "Company " + orgID, Type: &usersv1.Membership_OrgId{OrgId: orgID},
		Details: &heraldv1.ObjectDetails{ResourceOwner: orgID,
			CreationDate: timestamppb.New(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC))}}
	switch project {
	case "":
	case "*":
		m.Type, m.OrgName = &usersv1.Membership_Instance{Instance: true}, ""
	default:
		m.Type = &usersv1.Membership_ProjectId{ProjectId: project}
	}
	return m
}

// People see which organizations gave them roles, and accept, decline and end these. Their roles at home and in the
// instance are not listed.
func TestPeopleAnswerOtherOrganizations(t *testing.T) {
	t.Parallel()
	const active, pending = usersv1.MembershipState_MEMBERSHIP_STATE_ACTIVE,
		usersv1.MembershipState_MEMBERSHIP_STATE_PENDING
	a := newAccount(t)
	session, mine, texts := a.Login("here"), &a.Users.Own, testworld.PageTexts(t, "en")
	if page := a.open(session, "/memberships").Body.String(); !strings.Contains(page, texts["memberships.none"]) {
		t.Error("the page does not say that there is none")
	}
	if strings.Contains(a.open(session, "").Body.String(), texts["memberships.asked"]) {
		t.Error("the first page says that somebody asks")
	}
	mine.Memberships = []*usersv1.Membership{
		membership("home", "o1", "", active), membership("instance", "", "*", active),
		membership("old", "o2", "", active), membership("asked", "o3", "p3", pending),
		membership("unwanted", `<script>alert(1)</script>`, "", pending),
	}
	notice := testworld.Page(t, a.open(session, "")).Find("p", "class", "done").Find("a")
	if notice.Text() != texts["memberships.asked"] || notice.Attr("href") != accountPath+"/memberships" {
		t.Errorf("the first page says %q and leads to %q", notice.Text(), notice.Attr("href"))
	}
	w := a.open(session, "/memberships")
	testworld.Shows(t, w, 200, "memberships")
	root, body := testworld.Page(t, w), w.Body.String()
	var names []string
	for _, one := range root.All("strong") {
		names = append(names, one.Text())
	}
	if want := []string{"Company o3", "Company <script>alert(1)</script>", "Company o2"}; !slices.Equal(names, want) {
		t.Errorf("listed are %q, want %q", names, want)
	}
	for text, times := range map[string]int{
		texts["ORG_OWNER_VIEWER"] + ", " + texts["ORG_USER_MANAGER"]: 3, "ORG_": 0,
		texts["memberships.pending"]: 2, texts["memberships.project"]: 1,
		"<bdi>Shop p3</bdi>": 1, texts["memberships.since"]: 3, "<script>": 0, "/memberships/accept?id=asked": 1,
		"/memberships/decline?id=unwanted": 1, "/memberships/end?id=old": 1, "id=home": 0, "id=instance": 0,
	} {
		if got := strings.Count(body, text); got != times {
			t.Errorf("the page has %q %d times, want %d", text, got, times)
		}
	}
	before := proto.Clone(&usersv1.SearchMembershipsResponse{Result: mine.Memberships})
	for page, ids := range map[string][2]string{ // the one that it asks about, and one in the other state
		"accept": {"asked", "old"}, "decline": {"unwanted", "old"}, "end": {"old", "asked"},
	} {
		t.Run(page, func(t *testing.T) {
			asks := a.open(session, "/memberships/"+page+"?id="+ids[0])
			testworld.Shows(t, asks, 200, "membership"+page)
			if id := testworld.Page(t, asks).Find("input", "name", "id").Attr("value"); id != ids[0] {
				t.Errorf("it asks about %q", id)
			}
			testworld.Shows(t, a.open(session, "/memberships/"+page+"?id="+ids[1]), 404, "accountgone")
			a.sameAsMissing(session, "/memberships/"+page, "id", "of-u2")
		})
	}
	if !proto.Equal(before, &usersv1.SearchMembershipsResponse{Result: mine.Memberships}) {
		t.Error("opening a page changes something")
	}
	done := accountPath + "/memberships?done=true"
	for range 2 { // the second time it has been accepted
		testworld.Leads(t, a.send(session, "/memberships/accept", "id", "asked"), done)
	}
	testworld.Leads(t, a.send(session, "/memberships/decline", "id", "unwanted"), done)
	testworld.Leads(t, a.send(session, "/memberships/end", "id", "old"), done)
	testworld.Shows(t, a.send(session, "/memberships/end", "id", "old"), 404, "accountgone")
	left := map[string]usersv1.MembershipState{}
	for _, m := range mine.Memberships {
		left[m.Id] = m.State
	}
	if len(left) != 3 || left["home"] != active || left["instance"] != active || left["asked"] != active {
		t.Errorf("left are %v", left)
	}
}
