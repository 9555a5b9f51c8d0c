package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/contract"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
)

// ImportHumanUser imports a user. For an import with the id and content of an earlier one it returns
// the same answer and writes nothing.
func (u Users) ImportHumanUser(
	ctx context.Context, r *usersv1.ImportHumanUserRequest,
) (*usersv1.ImportHumanUserResponse, error) {
	data, err := importData(r)
	if err != nil {
		return nil, err
	}
	if err := domain.CheckUserID(r.UserId); r.UserId != "" && err != nil {
		return nil, err
	}
	n, err := u.human(ctx, data)
	if err != nil {
		return nil, err
	}
	if n.ID = r.UserId; n.ID == "" {
		n.ID = resource.NewID()
	} else {
		n.Digest = domain.NewDigest(u.Lasting, n.ID, digestFields(n.User, data))
	}
	if err := u.bringOTP(&n, data); err != nil {
		return nil, err
	}
	if err := u.checkIdpLinks(ctx, n.OrgID, n.IdpLinks); n.Digest != nil && errors.Is(err, usersfault.ErrIdpUnknown) {
		return u.repeated(ctx, n, err) // the provider may have been removed since the first import
	} else if err != nil {
		return nil, err
	}
	created := imported(&n, u.settle(&n))
	record, err := u.Store.CreateUser(ctx, n, created)
	if n.Digest != nil && (errors.Is(err, usersfault.ErrUserIDTaken) || errors.Is(err, usersfault.ErrUserNameTaken)) {
		return u.repeated(ctx, n, err)
	}
	if err != nil {
		return nil, err
	}
	return &usersv1.ImportHumanUserResponse{
		UserId: n.ID, Details: resource.Details(record, n.OrgID), InitMail: created.InitMail,
	}, nil
}

// imported returns the event of a new user. The kind is that of the mail to send, or empty.
func imported(n *store.NewUser, kind domain.Kind) *usersv1.HumanImported {
	e := &usersv1.HumanImported{
		State: usersv1.UserState(n.State), InitMail: initMail(kind), IdpIds: idpIDs(n.IdpLinks),
	}
	if kind != domain.KindInit {
		e.Mail = string(kind)
	}
	return e
}

// repeated returns the answer to an import whose id or name is taken, because it may be a repeated
// one.
func (u Users) repeated(ctx context.Context, n store.NewUser, taken error) (*usersv1.ImportHumanUserResponse, error) {
	first, err := u.Store.FirstImport(ctx, n.ID)
	switch {
	case errors.Is(err, usersfault.ErrUserNotFound):
		return nil, taken // the id by a user who was not imported, or the name by another user
	case err != nil:
		return nil, err
	}
	above, err := u.above(ctx, n.OrgID, []string{n.ID})
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

// human returns checked data as a user of the organization acted on, without id, state and code. It
// replaces a password by its hash.
func (u Users) human(ctx context.Context, d *usersv1.HumanUserData) (store.NewUser, error) {
	n, err := newHuman(orgID(ctx), d)
	if err != nil || d.Password == "" {
		return n, err
	}
	hash, err := u.Passwords.Hash(ctx, d.Password)
	n.PasswordHash = domain.Hidden(hash.Encoded())
	return n, err
}

// newHuman is human for data whose password, if it has one, is still to be hashed.
func newHuman(orgID string, d *usersv1.HumanUserData) (store.NewUser, error) {
	if err := domain.CheckEmail("email.email", d.Email.Email); err != nil {
		return store.NewUser{}, err
	}
	language, err := domain.Language("profile.preferredLanguage", d.Profile.PreferredLanguage)
	if err != nil {
		return store.NewUser{}, err
	}
	hash, err := passwordHash(d)
	if err != nil {
		return store.NewUser{}, err
	}
	n := store.NewUser{User: domain.User{
		OrgID: orgID, Type: domain.Human, UserName: d.UserName,
		FirstName: d.Profile.FirstName, LastName: d.Profile.LastName, NickName: d.Profile.NickName,
		DisplayName:       d.Profile.DisplayName,
		PreferredLanguage: language, Gender: int16(d.Profile.Gender),
		Email: d.Email.Email, EmailVerified: d.Email.IsEmailVerified,
		Phone: d.Phone.GetPhone(), PhoneVerified: d.Phone.GetIsPhoneVerified(),
		PasswordHash:           domain.Hidden(hash),
		PasswordChangeRequired: d.PasswordChangeRequired && (hash != "" || d.Password != ""),
	}, IdpLinks: newIdpLinks(d.Idps)}
	n.Metadata, err = metadataByKey(d.Metadata)
	return n, err
}

func metadataByKey(list []*usersv1.Metadata) (map[string][]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	values := make(map[string][]byte, len(list))
	for i, m := range list {
		if _, known := values[m.Key]; known {
			path := fmt.Sprintf("metadata[%d].key", i)
			return nil, usersfault.ErrMetadataKeyTwice.Say("%s: the key %q is given twice", path, m.Key).
				On(path, "is given twice")
		}
		values[m.Key] = m.Value
	}
	return values, nil
}

// passwordHash returns the hash in the request, if there is one, and checks a password that is
// there instead.
func passwordHash(d *usersv1.HumanUserData) (string, error) {
	encoded := d.HashedPassword.GetValue()
	switch {
	case encoded != "" && d.Password != "":
		return "", usersfault.ErrPasswordAndHash
	case encoded != "":
		hash, err := password.Parse(encoded)
		if refused, ok := errors.AsType[*password.FormatError](err); ok {
			return "", usersfault.ErrPasswordHashInvalid.Say("hashedPassword.value: %s",
				refused).On("hashedPassword.value",
				refused.Error())
		}
		return hash.Encoded(), err
	case d.Password != "":
		return "", password.Check("password", d.Password)
	default:
		return "", nil
	}
}

// bringOTP seals the secret of an authenticator app, if the request has one.
func (u Users) bringOTP(n *store.NewUser, d *usersv1.HumanUserData) error {
	if d.OtpCode == "" {
		return nil
	}
	otp, err := domain.OTPSecret(d.OtpCode)
	if err == nil {
		n.OTP = u.sealOTP(n.ID, otp)
	}
	return err
}

// digestFields returns the imported values by JSON path, as they are kept: a default that is written out is no
// other content. A password and a hash have the same path, credential, so that a fault does not tell which of
// the two was imported.
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
