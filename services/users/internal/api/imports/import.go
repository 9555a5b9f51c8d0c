// Package imports answers the requests of the service Imports.
package imports

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/contract"
	"herald/shared/gen/fault/usersfault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/rpc"
	"herald/shared/search"
)

// Server implements the service.
type Server struct {
	base.Base
	// Projects calls the service projects, whose ids no user may get.
	Projects projectsv1.InternalClient
}

// idpLinksText returns links as a text that does not depend on their order. It is empty for no
// links.
func idpLinksText(data []*usersv1.IdpLink) string {
	all := search.Each(base.NewIdpLinks(data), func(l domain.IdpLink) string {
		return fmt.Sprintf("%q %q %q %q", l.IdpID, l.ExternalUserID, l.TenantID, l.DisplayName)
	})
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// ImportHumanUser imports a user. For an import with the id and content of an earlier one it returns
// the same answer and writes nothing.
func (s Server) ImportHumanUser(
	ctx context.Context, r *usersv1.ImportHumanUserRequest,
) (*usersv1.ImportHumanUserResponse, error) {
	data, err := importData(r)
	if err != nil {
		return nil, err
	}
	if err := domain.CheckUserID(r.UserId); r.UserId != "" && err != nil {
		return nil, err
	}
	n, err := s.Human(ctx, data)
	if err != nil {
		return nil, err
	}
	if n.ID = r.UserId; n.ID == "" {
		n.ID = resource.NewID()
	} else {
		n.Digest = domain.NewDigest(s.Lasting, n.ID, digestFields(n.User, data))
	}
	if err := s.bringOTP(&n, data); err != nil {
		return nil, err
	}
	if err := s.CheckLinked(ctx, &n); n.Digest != nil && errors.Is(err, usersfault.ErrIdpUnknown) {
		return s.repeated(ctx, n, err) // the provider may have been removed since the first import
	} else if err != nil {
		return nil, err
	}
	if taken, err := s.elsewhere(ctx, []string{r.UserId}); err != nil || taken[n.ID] {
		return nil, cmp.Or(err, error(usersfault.ErrUserIDTaken))
	}
	created := base.Imported(&n, s.Settle(&n))
	record, err := s.Store.CreateUser(ctx, n, created)
	if n.Digest != nil && (errors.Is(err, usersfault.ErrUserIDTaken) || errors.Is(err, usersfault.ErrUserNameTaken)) {
		return s.repeated(ctx, n, err)
	}
	return &usersv1.ImportHumanUserResponse{
		UserId: n.ID, Details: resource.Details(record, n.OrgID), InitMail: created.InitMail,
	}, err
}

// idsAsked is how many ids the service projects is asked for at once. A request is smaller than 8 MiB with the longest.
const idsAsked = 10_000

// elsewhere returns which of the chosen ids of users are those of a project, an application or a client. All ids are
// one namespace. Projects and applications get random ids, so none can take an id that a user has.
func (s Server) elsewhere(ctx context.Context, ids []string) (map[string]bool, error) {
	taken := map[string]bool{}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	for some := range slices.Chunk(ids, idsAsked) {
		found, err := s.Projects.FindTaken(rpc.OnOwnBehalf(ctx), &projectsv1.FindTakenRequest{Ids: some})
		if err != nil {
			return nil, err
		}
		for _, id := range found.Ids {
			taken[id] = true
		}
	}
	return taken, nil
}

// repeated returns the answer to an import whose id or name is taken, because it may be a repeated
// one.
func (s Server) repeated(ctx context.Context, n store.NewUser, taken error) (*usersv1.ImportHumanUserResponse, error) {
	first, err := s.Store.FirstImport(ctx, n.ID)
	switch {
	case errors.Is(err, usersfault.ErrUserNotFound):
		return nil, taken // a user who was not imported has the id, or another user has the name
	case err != nil:
		return nil, err
	}
	above, err := s.above(ctx, n.OrgID, []string{n.ID})
	switch {
	case err != nil:
		return nil, err
	case above[n.ID]:
		return nil, usersfault.ErrUserIDTaken
	}
	if err := (domain.Known{OrgID: first.OrgID, Digest: first.ImportDigest}).Repeat(n.OrgID, n.Digest); err != nil {
		return nil, err
	}
	var imported usersv1.HumanImported
	if err := protojson.Unmarshal(first.Data, &imported); err != nil {
		return nil, fmt.Errorf("first import of a user: %w", err)
	}
	record := resource.Record{Sequence: first.Position, CreatedAt: first.Time, ChangedAt: first.Time}
	return &usersv1.ImportHumanUserResponse{
		UserId: n.ID, Details: resource.Details(record, n.OrgID), InitMail: imported.InitMail,
	}, nil
}

// importData reads an import in one of its three shapes and checks the rules of its fields.
func importData(r *usersv1.ImportHumanUserRequest) (*usersv1.HumanUserData, error) {
	if r.DataOrgs != nil {
		return nil, usersfault.ErrImportIsBulk
	}
	data, from := &usersv1.HumanUserData{}, r.ProtoReflect()
	flat := false
	for i := range data.ProtoReflect().Descriptor().Fields().Len() {
		to := data.ProtoReflect().Descriptor().Fields().Get(i)
		if field := from.Descriptor().Fields().ByName(to.Name()); from.Has(field) {
			copyField(data.ProtoReflect(), to, from.Get(field))
			flat = true
		}
	}
	if flat && r.User != nil {
		return nil, usersfault.ErrImportMixed
	}
	if r.User != nil {
		return r.User, nil
	}
	return data, contract.Validate(data)
}

func copyField(to protoreflect.Message, field protoreflect.FieldDescriptor, v protoreflect.Value) {
	if !field.IsList() {
		to.Set(field, v)
		return
	}
	list := to.Mutable(field).List()
	for i := range v.List().Len() {
		list.Append(v.List().Get(i))
	}
}

// bringOTP seals the secret of an authenticator app, if the request has one.
func (s Server) bringOTP(n *store.NewUser, d *usersv1.HumanUserData) error {
	if d.OtpCode == "" {
		return nil
	}
	otp, err := domain.OTPSecret(d.OtpCode)
	if err == nil {
		n.OTP = s.SealOTP(n.ID, otp)
	}
	return err
}

// digestFields returns the imported values by JSON path, in the form in which they are stored. So a default that is
// written out is the same content. A password and a hash have the same path, credential, so that a fault does not show
// which of the two was imported.
func digestFields(u domain.User, d *usersv1.HumanUserData) map[string]string {
	otp, _ := domain.OTPSecret(d.OtpCode) // an invalid one is refused after this
	fields := map[string]string{
		"userName":          d.UserName,
		"profile.firstName": d.Profile.FirstName, "profile.lastName": d.Profile.LastName,
		"profile.nickName":          d.Profile.NickName,
		"profile.displayName":       cmp.Or(u.DisplayName, u.UnchosenName()),
		"profile.preferredLanguage": u.PreferredLanguage, "profile.gender": nonzero(d.Profile.Gender.Number()),
		"email.email": d.Email.Email, "email.isEmailVerified": truth(d.Email.IsEmailVerified),
		"phone.phone": d.Phone.GetPhone(), "phone.isPhoneVerified": truth(d.Phone.GetIsPhoneVerified()),
		"credential":             d.Password + d.HashedPassword.GetValue(),
		"passwordChangeRequired": truth(u.PasswordChangeRequired),
		"otpCode":                otp,
		"idps":                   idpLinksText(d.Idps),
	}
	for _, m := range d.Metadata {
		sum := sha256.Sum256(m.Value)
		fields["metadata."+m.Key] = hex.EncodeToString(sum[:])
	}
	return fields
}

func truth(b bool) string {
	if b {
		return "true"
	}
	return ""
}

func nonzero(n protoreflect.EnumNumber) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(int32(n))
}
