package domain

import (
	"net/mail"
	"net/url"

	"herald/shared/fault"
	"herald/shared/gen/fault/notificationfault"
	"herald/shared/resource"
	"herald/shared/secret"
	"herald/shared/setting"
)

// Instance is the id of the settings: there are only those of the whole instance.
const Instance = "instance"

// SealedPassword is the column of the sealed password of the mail server.
var SealedPassword = secret.Column{Table: "smtp", Name: "password", Key: "id"}

// The settings of the environment, as faults name them.
const (
	ServerVariable  = "HERALD_SMTP_URL"
	SenderVariable  = "HERALD_MAIL_FROM"
	ReplyToVariable = "HERALD_MAIL_REPLY_TO"
)

// defaultSender is the sender of mails until one is set.
var defaultSender = mail.Address{Name: "Herald", Address: "herald@localhost"}

// Server is a mail server with the login there.
type Server struct {
	// URL has no user and no password.
	URL      string
	User     string
	Password secret.Text
}

// ParseServer returns the parts of an address that package smtp has accepted, such as smtp://user:password@host:587.
func ParseServer(address secret.Text) (Server, error) {
	u, err := url.Parse(address.Reveal())
	if err != nil {
		return Server{}, notificationfault.ErrSmtpInvalid // without the text, which has the password
	}
	s := Server{User: u.User.Username()}
	if password, is := u.User.Password(); is {
		s.Password = secret.NewText(password)
	}
	u.User = nil
	s.URL = u.String()
	return s, nil
}

// Address returns the address of the server with user and password, as package smtp reads it.
func (s Server) Address() secret.Text {
	u, err := url.Parse(s.URL)
	if err != nil || s.User == "" {
		return secret.NewText(s.URL)
	}
	u.User = url.UserPassword(s.User, s.Password.Reveal())
	return secret.NewText(u.String())
}

// Environment has what the process was started with. Settings in it win over those of the API.
type Environment struct {
	// Server is nil, and the others are empty, if the environment does not set them.
	Server  *Server
	Sender  mail.Address
	ReplyTo string
	// Inbox is the address of the inbox of `herald run`, which catches the mails until a mail server is set. Empty for
	// none.
	Inbox string
	// Keys open the stored password.
	Keys secret.Keys
}

// SMTP is how mails are sent, as the API has set it. Empty fields are not set.
type SMTP struct {
	resource.Record
	URL, User string
	// Password is sealed.
	Password      []byte
	SenderAddress string
	SenderName    string
	ReplyTo       string
}

// Live is what mails are sent with, and where it comes from.
type Live struct {
	resource.Record
	// Server has no URL if there is no mail server. Its password is empty if it is stored; Open fills it in.
	Server
	PasswordSet bool
	Sender      mail.Address
	// ReplyTo is empty for the sender.
	ReplyTo string
	// Sources are those of the server, the sender and ReplyTo.
	Sources struct{ Server, Sender, ReplyTo setting.Source }
}

// Live returns what mails are sent with.
func (s SMTP) Live(e Environment) Live {
	l := Live{Record: s.Record, Sender: defaultSender}
	l.Sources.Server, l.Sources.Sender, l.Sources.ReplyTo = setting.ByDefault, setting.ByDefault, setting.ByDefault
	switch {
	case e.Server != nil:
		l.Server, l.PasswordSet, l.Sources.Server = *e.Server, !e.Server.Password.Empty(), setting.ByEnvironment
	case s.URL != "":
		l.Server, l.PasswordSet, l.Sources.Server = Server{URL: s.URL, User: s.User}, len(s.Password) > 0, setting.ByAPI
	case e.Inbox != "":
		l.Server, l.Sources.Server = Server{URL: e.Inbox}, setting.ByInbox
	}
	switch {
	case e.Sender.Address != "":
		l.Sender, l.Sources.Sender = e.Sender, setting.ByEnvironment
	case s.SenderAddress != "":
		l.Sender, l.Sources.Sender = mail.Address{Name: s.SenderName, Address: s.SenderAddress}, setting.ByAPI
	}
	switch {
	case e.ReplyTo != "":
		l.ReplyTo, l.Sources.ReplyTo = e.ReplyTo, setting.ByEnvironment
	case s.ReplyTo != "":
		l.ReplyTo, l.Sources.ReplyTo = s.ReplyTo, setting.ByAPI
	}
	return l
}

// Origins returns where the server, the sender and ReplyTo come from.
func (l Live) Origins() []setting.Origin {
	return []setting.Origin{
		{Field: "url", Variable: ServerVariable, Source: l.Sources.Server},
		{Field: "senderAddress", Variable: SenderVariable, Source: l.Sources.Sender},
		{Field: "replyTo", Variable: ReplyToVariable, Source: l.Sources.ReplyTo},
	}
}

// Open is Live with the password. It fails if the keys cannot open the stored one.
func (s SMTP) Open(e Environment) (Live, error) {
	l := s.Live(e)
	if l.Sources.Server != setting.ByAPI || !l.PasswordSet {
		return l, nil
	}
	plain, err := e.Keys.Open(s.Password, SealedPassword, Instance)
	l.Password = secret.NewText(string(plain))
	return l, err
}

// SMTPChange has the values of a change. An empty password keeps the stored one.
type SMTPChange struct {
	Server
	SenderAddress, SenderName, ReplyTo string
}

// Replace sets what the environment does not set, and returns the names of the changed fields. It does not check that
// mails can be sent with the new values.
func (s *SMTP) Replace(c SMTPChange, e Environment) (changed []string, err error) {
	was := *s
	if err := c.heeds(s.Live(e)); err != nil {
		return nil, err
	}
	if e.Server == nil {
		if err := s.setServer(c.Server, e); err != nil {
			return nil, err
		}
	}
	if e.Sender.Address == "" {
		if c.SenderAddress == "" && c.SenderName != "" {
			return nil, invalid("senderAddress", "is missing, and there is a senderName")
		}
		s.SenderAddress, s.SenderName = c.SenderAddress, c.SenderName
	}
	if e.ReplyTo == "" {
		s.ReplyTo = c.ReplyTo
	}
	for _, f := range []struct {
		name    string
		differs bool
	}{
		{"url", s.URL != was.URL}, {"user", s.User != was.User},
		{"password", string(s.Password) != string(was.Password)},
		{"senderAddress", s.SenderAddress != was.SenderAddress}, {"senderName", s.SenderName != was.SenderName},
		{"replyTo", s.ReplyTo != was.ReplyTo},
	} {
		if f.differs {
			changed = append(changed, f.name)
		}
	}
	return changed, nil
}

// heeds refuses values that the environment sets, unless they are empty or stay as they are.
func (c SMTPChange) heeds(l Live) error {
	for _, f := range []struct {
		setting.Origin
		asked, is string
	}{
		{setting.Origin{Field: "url", Variable: ServerVariable, Source: l.Sources.Server}, c.URL, l.URL},
		{setting.Origin{Field: "user", Variable: ServerVariable, Source: l.Sources.Server}, c.User, l.User},
		{setting.Origin{Field: "password", Variable: ServerVariable, Source: l.Sources.Server},
			c.Password.Reveal(), ""},
		{setting.Origin{Field: "senderAddress", Variable: SenderVariable, Source: l.Sources.Sender},
			c.SenderAddress, l.Sender.Address},
		{setting.Origin{Field: "senderName", Variable: SenderVariable, Source: l.Sources.Sender},
			c.SenderName, l.Sender.Name},
		{setting.Origin{Field: "replyTo", Variable: ReplyToVariable, Source: l.Sources.ReplyTo}, c.ReplyTo, l.ReplyTo},
	} {
		if f.Source == setting.ByEnvironment && f.asked != "" && f.asked != f.is {
			return notificationfault.ErrSmtpSetByEnvironment.Naming(f.Won())
		}
	}
	return nil
}

// setServer sets the server and its login. A password that was stored for one server must not be sent to another.
func (s *SMTP) setServer(to Server, e Environment) error {
	switch {
	case to.URL == "" && e.Inbox == "":
		return invalid("url", "is missing: mails need a server, such as smtp://mail.example.com:587")
	case to.URL == "" && (to.User != "" || !to.Password.Empty()):
		return invalid("url", "is missing, and there is a login")
	case to.User == "" && !to.Password.Empty():
		return invalid("user", "is missing, and there is a password")
	}
	if err := checkURL(to.URL); err != nil {
		return err
	}
	kept := to.URL == s.URL && to.User == s.User && len(s.Password) > 0
	switch {
	case to.User == "":
		s.Password = nil
	case to.Password.Empty() && !kept:
		return notificationfault.ErrSmtpPasswordRequired
	case !to.Password.Empty():
		s.setPassword(to.Password, e.Keys)
	}
	s.URL, s.User = to.URL, to.User
	return nil
}

// setPassword seals a password, unless it is the stored one.
func (s *SMTP) setPassword(p secret.Text, keys secret.Keys) {
	plain, err := keys.Open(s.Password, SealedPassword, Instance)
	if err != nil || !secret.Equal(plain, []byte(p.Reveal())) {
		s.Password = keys.Seal([]byte(p.Reveal()), SealedPassword, Instance)
	}
}

// checkURL refuses what an address can have in the environment only. Its errors do not quote the address, because
// somebody may have written a password into it.
func checkURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return invalid("url", "is not of the form smtp://mail.example.com:587")
	case u.User != nil:
		return invalid("url", "must not have the user and the password, which have fields of their own")
	case u.Query().Has("ca"):
		return invalid("url", "must not have ca: only "+ServerVariable+" can name a file")
	}
	return nil
}

func invalid(field, reason string) error {
	return notificationfault.ErrSmtpInvalid.Naming(fault.Field{Path: field, Reason: reason})
}
