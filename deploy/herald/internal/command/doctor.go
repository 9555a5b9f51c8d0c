package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/services"
	"herald/services/notification"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/event"
	"herald/shared/postgres"
)

const (
	// lookLimit is how long one look of the doctor may take.
	lookLimit = 10 * time.Second
	// mostSkew is how much clocks may differ. Codes of authenticator apps and signed tokens allow little more.
	mostSkew = 5 * time.Second
	// renewal is how long before its end a certificate should have been renewed.
	renewal = 14 * 24 * time.Hour
	// fewMiB is how much room the disk of the data directory should have.
	fewMiB = 1 << 10
	// The oldest versions that work: 15.0 and 2.12.
	oldestPostgres, oldestNATS = 150000, 2012
)

func doctor() *cobra.Command {
	return &cobra.Command{
		Use:     "doctor",
		Example: "  herald doctor",
		Short:   "Look for what is wrong with an installation, and say what to do",
		Long: `Look for what is wrong with an installation, and say what to do. Nothing is changed, and no mail is sent.

It asks the public URL, the databases, NATS and the mail relay, as this machine with these settings sees them. Exits
with 0 if nothing is wrong.`,
		Args: cobra.NoArgs,
		RunE: withRing(func(c *cobra.Command, r *ring, _ []string) error {
			return (&patient{r}).examine(c.Context(), c.OutOrStdout())
		}),
	}
}

// patient is an installation.
type patient struct{ *ring }

// look is one part of an examination. It returns what it has seen, or what is wrong and what to do.
type look struct {
	at string
	do func(context.Context) (seen string, err error)
}

func (p *patient) examine(ctx context.Context, out io.Writer) error {
	looks := []look{{"public URL", p.lookAtURL}, {"NATS", p.lookAtNATS}, {"mail relay", p.lookAtRelay},
		{"disk", p.lookAtDisk}}
	for _, name := range services.Names() {
		looks = append(looks, look{"database of " + name, func(ctx context.Context) (string, error) {
			return p.lookAtDatabase(ctx, name)
		}})
	}
	wrong := 0
	for _, l := range looks {
		ctx, cancel := context.WithTimeout(ctx, lookLimit)
		seen, err := l.do(ctx)
		cancel()
		if err != nil {
			wrong++
			fmt.Fprintf(out, "WRONG  %s: %s\n", l.at, strings.Join(strings.Fields(err.Error()), " "))
			continue
		}
		fmt.Fprintf(out, "ok     %s: %s\n", l.at, seen)
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d are wrong", wrong, len(looks))
	}
	return nil
}

// lookAtURL asks the public URL who it is, as applications do.
func (p *patient) lookAtURL(ctx context.Context) (string, error) {
	public, err := p.config.services.PublicURL(p.PublicURL)
	if err != nil {
		return "", err
	}
	address := public.JoinPath("/.well-known/openid-configuration").String()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	begin := time.Now()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", fmt.Errorf("%w: is Herald running, does HERALD_PUBLIC_URL lead to it, and may this machine "+
			"go there?", err)
	}
	defer answer.Body.Close()
	var found struct{ Issuer string }
	err = json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&found)
	if err != nil || answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s, not with the configuration of Herald: look at the proxy in front of it",
			address, answer.Status)
	}
	if found.Issuer != public.String() {
		return "", fmt.Errorf("the Herald there calls itself %s: set HERALD_PUBLIC_URL to the same in all processes",
			found.Issuer)
	}
	if answer.TLS != nil {
		if end := answer.TLS.PeerCertificates[0].NotAfter; time.Until(end) < renewal {
			return "", fmt.Errorf("its certificate ends on %s: renew it", end.Format(time.DateOnly))
		}
	}
	there, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return "", fmt.Errorf("it does not say what time it is: %w", err)
	}
	return public.String(), skew(there, begin.Truncate(time.Second), time.Now())
}

// skew returns an error if a clock that showed a time between begin and end differs from that of this machine.
func skew(shown, begin, end time.Time) error {
	off := max(begin.Sub(shown), shown.Sub(end))
	if off <= mostSkew {
		return nil
	}
	return fmt.Errorf("its clock and the one of this machine differ by %s: let NTP set both", off.Round(time.Second))
}

func (p *patient) lookAtDatabase(ctx context.Context, name string) (string, error) {
	db, err := p.open(ctx, name, false)
	if err != nil {
		return "", err
	}
	defer db.Close()
	var version int
	var clock time.Time
	begin := time.Now()
	const ask = `select current_setting('server_version_num')::int, clock_timestamp()`
	err = db.QueryRow(ctx, ask).Scan(&version, &clock)
	if err != nil {
		return "", fmt.Errorf("%w: is the server of HERALD_DATABASE_URL running, and may this machine go there?", err)
	}
	if err := skew(clock, begin, time.Now()); err != nil {
		return "", err
	}
	if version < oldestPostgres {
		return "", fmt.Errorf("the server is Postgres %d: Herald needs 15 or later", version/10000)
	}
	pending, err := boot.Pending(ctx, db, services.Target(name, db).Migrations)
	if err != nil {
		return "", err
	}
	if n := len(pending); n > 0 {
		return "", fmt.Errorf("%d migrations are missing: start the service of this version, or type "+
			"`herald migrate`", n)
	}
	err = postgres.Ask(ctx, db, func(ctx context.Context, c *pgx.Conn) error { return event.Waiting(ctx, c) })
	if err != nil {
		return "", fmt.Errorf("%w: is the service running, and NATS?", err)
	}
	return fmt.Sprintf("Postgres %d, all migrations", version/10000), nil
}

func (p *patient) lookAtNATS(ctx context.Context) (string, error) {
	address, err := operator(p.RunConfig, p.config.trust)
	if err != nil {
		return "", err
	}
	telemetry, err := boot.NewTelemetry(ctx, boot.Observe{}, bus.Operator, io.Discard)
	if err != nil {
		return "", err
	}
	connecting, cancel := context.WithTimeout(ctx, operatorLimit)
	defer cancel()
	conn, err := bus.Connect(connecting, address, telemetry.Log)
	if err != nil {
		return "", fmt.Errorf("%w: is the server of HERALD_NATS_URL running, and may this machine go there?", err)
	}
	defer conn.Close()
	var major, minor int
	_, err = fmt.Sscanf(conn.ConnectedServerVersion(), "%d.%d", &major, &minor)
	if err != nil || major*1000+minor < oldestNATS {
		return "", fmt.Errorf("the server is NATS %s: Herald needs 2.12 or later", conn.ConnectedServerVersion())
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return "", err
	}
	dead, err := js.Stream(ctx, event.Dead)
	if err != nil {
		return "", fmt.Errorf("stream %s: %w: a service makes it when it starts", event.Dead, err)
	}
	info := dead.CachedInfo()
	if info.Config.Replicas != p.config.single.NATSReplicas && p.NATS != "" {
		return "", fmt.Errorf("the streams have %d copies, and HERALD_NATS_REPLICAS is %d: restart the services "+
			"with it", info.Config.Replicas, p.config.single.NATSReplicas)
	}
	if n := info.State.Msgs; n > 0 {
		return "", fmt.Errorf("%d events could not be handled: `herald dead list` says why", n)
	}
	return "NATS " + conn.ConnectedServerVersion(), nil
}

// lookAtRelay connects and logs in, as the notifier does. Which server that is, the API may have set.
func (p *patient) lookAtRelay(ctx context.Context) (string, error) {
	db, err := p.open(ctx, "notification", false)
	if err != nil {
		return "", err
	}
	defer db.Close()
	err = notification.Reach(ctx, db, p.keys, p.config.services.Notification)
	switch {
	case errors.Is(err, notification.ErrNoServer) && p.NATS == "":
		return "the inbox of herald run", nil
	case err != nil:
		return "", fmt.Errorf("%w: see HERALD_SMTP_URL and GET /admin/v1/smtp", err)
	}
	return "takes mails", nil
}

func (p *patient) lookAtDisk(context.Context) (string, error) {
	if p.NATS != "" && !p.Database.Empty() {
		return "nothing is stored on this machine", nil
	}
	free, err := boot.Room(p.DataDir)
	if err != nil {
		return "", err
	}
	if free>>20 < fewMiB {
		return "", errors.New("HERALD_DATA_DIR: its disk has only " + fmt.Sprint(free>>20) + " MiB left: make room")
	}
	return fmt.Sprintf("%d MiB are free", free>>20), nil
}
