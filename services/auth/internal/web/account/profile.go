package account

import (
	"net/http"
	"slices"
	"strings"

	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
)

// mostName is how many characters a name has at most, and maxName how many bytes a browser may send for one.
const mostName, maxName = 200, 2000

func (p *Pages) profile(w http.ResponseWriter, v visit) error {
	me, err := p.Users.GetMyUser(v.as(), &usersv1.GetMyUserRequest{})
	if err != nil {
		return err
	}
	shown := me.User.GetHuman().GetProfile()
	unchosen := mail.DisplayName(shown.GetPreferredLanguage(), shown.GetFirstName(), shown.GetLastName())
	if shown.GetDisplayName() == unchosen { // it follows the other names
		shown.DisplayName = ""
	}
	return p.profileForm(w, v, shown, nil)
}

// profileForm writes the form. It marks the wrong fields, which are given by their JSON names.
func (p *Pages) profileForm(w http.ResponseWriter, v visit, shown *usersv1.Profile, wrong []string) error {
	text := func(name, label, autocomplete, value string, required bool) field {
		return field{Name: name, Label: label, Type: "text", Autocomplete: autocomplete, Value: value, Most: mostName,
			Required: required}
	}
	display := text("displayName", "profile.display", "name", shown.GetDisplayName(), false)
	display.Hint = "profile.display.hint"
	fields := []field{
		text("firstName", "profile.first", "given-name", shown.GetFirstName(), true),
		text("lastName", "profile.last", "family-name", shown.GetLastName(), true),
		text("nickName", "profile.nick", "nickname", shown.GetNickName(), false),
		display,
		{Name: "preferredLanguage", Label: "profile.language", Value: shown.GetPreferredLanguage(),
			Options: p.languages(v, shown.GetPreferredLanguage())},
		{Name: "gender", Label: "profile.gender", Value: shown.GetGender().String(), Options: genders()},
	}
	for i := range fields {
		if slices.Contains(wrong, fields[i].Name) {
			fields[i].Wrong = "profile.wrong"
		}
	}
	return p.writeForm(w, v, "profile", form{Fields: fields, Submit: "profile.submit"})
}

// languages are the languages of pages and mails, and the language that the person has chosen.
func (p *Pages) languages(v visit, has string) []option {
	all := []option{{Key: "profile.language.none"}}
	for _, l := range p.Frame.Offered(v.Context()) {
		all = append(all, option{Value: l.Tag, Text: l.Name})
	}
	if !slices.ContainsFunc(all, func(o option) bool { return o.Value == has }) {
		all = append(all, option{Value: has, Text: has})
	}
	return all
}

func genders() []option {
	return []option{
		{Value: usersv1.Gender_GENDER_UNSPECIFIED.String(), Key: "profile.gender.none"},
		{Value: usersv1.Gender_GENDER_FEMALE.String(), Key: "profile.gender.female"},
		{Value: usersv1.Gender_GENDER_MALE.String(), Key: "profile.gender.male"},
		{Value: usersv1.Gender_GENDER_DIVERSE.String(), Key: "profile.gender.diverse"},
	}
}

func (p *Pages) saveProfile(w http.ResponseWriter, v visit) error {
	typed := &usersv1.Profile{
		FirstName: v.name("firstName"), LastName: v.name("lastName"), NickName: v.name("nickName"),
		DisplayName: v.name("displayName"), PreferredLanguage: v.name("preferredLanguage"),
		Gender: usersv1.Gender(usersv1.Gender_value[v.Values.Get("gender")]),
	}
	_, err := p.Users.UpdateMyProfile(v.as(), &usersv1.UpdateMyProfileRequest{
		FirstName: typed.FirstName, LastName: typed.LastName, NickName: typed.NickName, DisplayName: typed.DisplayName,
		PreferredLanguage: typed.PreferredLanguage, Gender: typed.Gender,
	})
	if f := fault.From(err); f.Code == fault.Invalid && len(f.Fields) > 0 {
		var wrong []string
		for _, one := range f.Fields {
			wrong = append(wrong, one.Path)
		}
		return p.profileForm(w, v, typed, wrong)
	}
	return p.done(w, v, "profile", err)
}

// name returns a typed name. The service users refuses a name that is too long. The page shows such a name again if it
// has at most maxName bytes.
func (v visit) name(field string) string {
	typed := v.Values.Get(field)
	return strings.ToValidUTF8(typed[:min(len(typed), maxName)], "\uFFFD")
}
