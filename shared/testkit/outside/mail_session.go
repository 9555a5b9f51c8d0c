package outside

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"io"
	"net"
	"slices"
	"strings"
)

// session is one connection. Its methods return false when the session is over.
type session struct {
	server *MailServer
	conn   net.Conn
	in     *bufio.Reader
	secure bool
	hello  bool
	user   string
	mail   *Delivery
}

// Serve answers the client at the other end of conn until one of them closes the connection. Then it closes conn.
func (s *MailServer) Serve(conn net.Conn) {
	s.mu.Lock()
	s.open[conn] = true
	if s.stopped {
		conn.Close()
	}
	s.mu.Unlock()
	defer func() {
		conn.Close()
		s.change(func() {
			delete(s.open, conn)
			s.reached[Closed]++
		})
	}()
	c := &session{server: s, conn: conn, in: bufio.NewReader(conn)}
	if s.config.TLS == ImplicitTLS {
		c.encrypt()
	}
	for goOn := c.answer(Greeting, "220 smtpd.test ESMTP", nil); goOn; {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return
		}
		verb, argument, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		goOn = c.command(Verb(strings.ToUpper(verb)), argument)
	}
}

func (c *session) command(verb Verb, argument string) bool {
	switch verb {
	case EHLO:
		return c.answer(EHLO, c.extensions(), func() { c.hello, c.mail = true, nil })
	case HELO:
		return c.answer(HELO, "250 smtpd.test", func() { c.hello, c.mail = true, nil })
	case STARTTLS:
		if c.server.config.TLS != StartTLS || c.secure {
			return c.say("503 5.5.1 not offered")
		}
		return c.answer(STARTTLS, "220 2.0.0 go ahead", c.encrypt)
	case AUTH:
		return c.login(argument)
	case MAIL:
		return c.sender(argument)
	case RCPT:
		if c.mail == nil {
			return c.say("503 5.5.1 MAIL first")
		}
		return c.answer(RCPT, "250 2.1.5 ok", func() { c.mail.To = append(c.mail.To, path(argument)) })
	case DATA:
		return c.data()
	case RSET:
		return c.answer(RSET, "250 2.0.0 ok", func() { c.mail = nil })
	case "NOOP":
		return c.say("250 2.0.0 ok")
	case QUIT:
		c.answer(QUIT, "221 2.0.0 bye", nil)
		return false
	}
	return c.say("500 5.5.2 unknown command")
}

// answer sends the scripted reply or the usual one. It calls then if the reply has the same class as the usual one.
func (c *session) answer(at Verb, usual string, then func()) (goOn bool) {
	fault, scripted := c.server.reach(at)
	if scripted {
		goOn = c.misbehave(fault)
	} else {
		goOn = c.say(usual)
	}
	if goOn && then != nil && (!scripted || fault.says(usual)) {
		then()
	}
	return goOn
}

// says reports whether a scripted reply has the same class as the usual one.
func (f MailFault) says(usual string) bool { return f.Reply != "" && f.Reply[0] == usual[0] }

// misbehave executes a fault. If no field of the fault is set, the server sends no reply.
func (c *session) misbehave(fault MailFault) bool {
	if fault.Wait != nil {
		select {
		case <-fault.Wait:
		case <-c.server.ended:
		}
	}
	if fault.Hang {
		_, _ = io.Copy(io.Discard, c.conn) // until the client disconnects
		return false
	}
	if fault.Reply != "" && !c.say(fault.Reply) {
		return false
	}
	if fault.Unasked != "" {
		if !c.say(fault.Unasked) {
			return false
		}
		c.server.reach(Unasked)
	}
	return !fault.Drop
}

func (c *session) say(reply string) bool {
	_, err := io.WriteString(c.conn, reply+"\r\n")
	return err == nil
}

// extensions is the answer to EHLO. If the server demands TLS, it offers AUTH only after STARTTLS, as real servers
// do.
func (c *session) extensions() string {
	config := c.server.config
	lines := slices.Clone(config.Extensions)
	if lines == nil {
		lines = []string{"SIZE 10485760", "8BITMIME", "SMTPUTF8"}
	}
	if config.TLS == StartTLS && !c.secure {
		lines = append(lines, "STARTTLS")
	}
	if config.User != "" && (c.secure || !config.DemandTLS) {
		lines = append(lines, "AUTH "+config.mechanisms())
	}
	reply := "250-smtpd.test\r\n"
	for _, line := range lines {
		reply += "250-" + line + "\r\n"
	}
	return reply + "250 HELP"
}

func (c MailConfig) mechanisms() string {
	if c.Mechanisms != "" {
		return c.Mechanisms
	}
	return "PLAIN LOGIN"
}

// encrypt starts the session again (RFC 3207, section 4.2). If the handshake failed, the next read fails.
func (c *session) encrypt() {
	c.conn = tls.Server(c.conn, c.server.tls)
	c.in = bufio.NewReader(c.conn)
	c.secure, c.hello, c.user = true, false, ""
}

// login answers AUTH PLAIN (RFC 4616) and AUTH LOGIN.
func (c *session) login(argument string) bool {
	fault, scripted := c.server.reach(AUTH)
	if scripted {
		return c.misbehave(fault)
	}
	mechanism, initial, _ := strings.Cut(argument, " ")
	if !slices.Contains(strings.Fields(c.server.config.mechanisms()), mechanism) {
		return c.say("504 5.5.4 unknown mechanism")
	}
	var given []string
	switch mechanism {
	case "PLAIN":
		if initial == "" {
			initial = c.ask("")
		}
		given = strings.Split(decode(initial), "\x00")[1:]
	case "LOGIN":
		given = []string{decode(c.ask("Username:")), decode(c.ask("Password:"))}
	}
	if want := []string{c.server.config.User, c.server.config.Password}; !slices.Equal(given, want) {
		return c.say("535 5.7.8 wrong user name or password")
	}
	c.user = c.server.config.User
	return c.say("235 2.7.0 welcome")
}

// ask sends a challenge of AUTH and returns the response, or "" when the client sends none.
func (c *session) ask(challenge string) string {
	c.say("334 " + base64.StdEncoding.EncodeToString([]byte(challenge)))
	line, _ := c.in.ReadString('\n')
	return strings.TrimRight(line, "\r\n")
}

func decode(text string) string {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "not base64\x00"
	}
	return string(plain)
}

// sender answers MAIL. It refuses MAIL before the TLS and login that the configuration demands.
func (c *session) sender(argument string) bool {
	config := c.server.config
	switch {
	case !c.hello:
		return c.say("503 5.5.1 EHLO first")
	case config.DemandTLS && !c.secure:
		return c.say("530 5.7.0 Must issue a STARTTLS command first")
	case config.User != "" && c.user == "":
		return c.say("530 5.7.0 Authentication required")
	case c.mail != nil:
		return c.say("503 5.5.1 a mail is under way")
	}
	return c.answer(MAIL, "250 2.1.0 ok", func() {
		_, parameters, _ := strings.Cut(argument, ">")
		c.mail = &Delivery{
			From: path(argument), TLS: c.secure, User: c.user,
			UTF8: slices.Contains(strings.Fields(parameters), "SMTPUTF8"),
		}
	})
}

// data reads a mail and keeps it if it is accepted. The mail is kept before the reply is sent, so that a client that
// has read the reply finds the delivery.
func (c *session) data() bool {
	if c.mail == nil || len(c.mail.To) == 0 {
		return c.say("503 5.5.1 RCPT first")
	}
	started := false
	if !c.answer(DATA, "354 go ahead", func() { started = true }) || !started {
		return started
	}
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		c.mail.Data = append(c.mail.Data, strings.TrimPrefix(line, ".")...)
	}
	mail := c.mail
	c.mail = nil
	fault, scripted := c.server.reach(Dot)
	if !scripted || fault.Accept || fault.says("250") {
		c.server.accept(mail)
	}
	if scripted {
		return c.misbehave(fault)
	}
	return c.say("250 2.0.0 accepted")
}

// path returns the address in FROM:<a@b> SIZE=1 or TO:<a@b>.
func path(argument string) string {
	_, rest, _ := strings.Cut(argument, "<")
	address, _, _ := strings.Cut(rest, ">")
	return address
}
