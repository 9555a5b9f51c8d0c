package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"herald/shared/contract"
	notificationv1 "herald/shared/gen/herald/notification/v1"
)

const callHelp = `Call a method of a running Herald. Without a name, list the methods with their REST
paths and who may call them.

Everybody on the machine sees the arguments of a process: requests with passwords belong
in a file or on the standard input, and the token in the file that --token-file names, or
in HERALD_TOKEN or HERALD_TOKEN_FILE. A machine user logs in with the key file that --key-file or
HERALD_KEY_FILE names, anew for each call; the token is not kept. Without any of them, a person
calls who has logged in with "herald login". Else the administrator's token of the first start is
sent, but never to an instance that --url names.

Exit codes: 1 where the call was not made or not answered, as for a mistake in the request,
and for a test mail that the mail server has not taken; else 10 and the code of the
answer: 13 invalid, 14 took too long, 15 not found, 16 exists, 17 denied, 18 slow down,
19 wrong state, 22 no such method, 23 internal error, 24 unavailable, 26 no valid token.`

// callFlags are the flags of a call.
type callFlags struct {
	json, org, url, tokenFile, keyFile string
	output                             output
	describe                           bool
}

// call returns the command `call`, which has a command for each public method of the linked
// contracts.
func call() *cobra.Command {
	var f callFlags
	c := &cobra.Command{
		Use:   "call Service.Method",
		Short: "Call a method of a running Herald, or list the methods",
		Long:  callHelp,
		Example: `  herald call Users.GetUser --json '{"userId":"mini-mouse"}'
  herald call Users.SearchUsers --json @query.json --columns id,human.email.email
  herald call Projects.CreateProject --json '{"name":"Shop"}' -o id
  herald call Users.GetUser --describe`,
		Args: knownMethod,
		RunE: func(c *cobra.Command, _ []string) error { return listMethods(c) },

		SuggestionsMinimumDistance: 3,
	}
	flags := c.PersistentFlags()
	flags.StringVar(&f.json, "json", "", "the request: JSON, @ and the name of its file, or @- for the standard input")
	flags.StringVar(&f.org, "org", "", "id of the organization to act on; the caller's own if empty")
	f.atInstance(flags)
	f.asCaller(flags)
	f.output.flags(c, flags, "json")
	flags.StringSliceVar(&f.output.columns, "columns", nil, "columns of the table, such as id,human.email.email; with "+
		"-o id their values alone")
	flags.BoolVar(&f.describe, "describe", false, "print what the request looks like, with the types of its fields, "+
		"and call nothing")
	for _, name := range []string{"json", "org", "url", "columns"} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions) // fails for unknown flags only
	}
	methods, err := contract.AllMethods()
	if err != nil {
		c.RunE = func(*cobra.Command, []string) error { return err }
	}
	for _, m := range methods {
		if !m.Internal() {
			c.AddCommand(callMethod(m, &f))
		}
	}
	return c
}

func callMethod(m contract.Method, f *callFlags) *cobra.Command {
	verb, path, _ := contract.Route(m.Rules[0])
	name := fmt.Sprintf("%s.%s", m.Parent().Name(), m.Name())
	return &cobra.Command{
		Use:        name,
		Example:    fmt.Sprintf("  herald call %s --describe\n  herald call %[1]s --json @request.json", name),
		Aliases:    []string{string(m.FullName())},
		SuggestFor: []string{string(m.Name()), m.Procedure()},
		Short:      fmt.Sprintf("%s %s (%s)", verb, path, needs(m)),
		Args:       cobra.NoArgs,
		RunE:       func(c *cobra.Command, _ []string) error { return f.run(c, m) },
	}
}

// needs returns who may call a method.
func needs(m contract.Method) string {
	if m.Access.Public {
		return "anybody"
	}
	return cmp.Or(m.Access.Permission, "any valid token")
}

// listMethods writes the methods that can be called.
func listMethods(c *cobra.Command) error {
	methods, err := contract.AllMethods()
	if err != nil {
		return err
	}
	var rows [][]string
	for _, m := range methods {
		if !m.Internal() {
			verb, path, _ := contract.Route(m.Rules[0])
			name := fmt.Sprintf("%s.%s", m.Parent().Name(), m.Name())
			rows = append(rows, []string{name, verb + " " + path, needs(m)})
		}
	}
	slices.SortFunc(rows, slices.Compare)
	return writeTable(c.OutOrStdout(), []string{"METHOD", "REQUEST", "NEEDS"}, rows)
}

// knownMethod refuses an unknown command of c and suggests similar names.
func knownMethod(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	mistake := fmt.Sprintf("there is no method %q", args[0])
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		slices.Sort(near)
		mistake += "; did you mean " + strings.Join(slices.Compact(near), ", ") + "?"
	}
	return errors.New(mistake)
}

func (f *callFlags) run(c *cobra.Command, m contract.Method) error {
	if f.describe {
		return printJSON(c.OutOrStdout(), []byte(sketch(m.Input())))
	}
	if len(f.output.columns) > 0 && !c.Flags().Changed("output") {
		f.output.format = "table"
	}
	if err := f.output.check(m.Output()); err != nil {
		return err
	}
	request, err := f.request(c.InOrStdin(), m.Input())
	if err != nil {
		return fmt.Errorf("--json: %w; `herald call %s --describe` shows the request", err, c.Name())
	}
	answer, err := f.ask(c.Context(), m, request)
	if err != nil {
		return err
	}
	if err := f.output.print(c.OutOrStdout(), m.Output(), answer); err != nil {
		return err
	}
	return unsent(m, answer)
}

// unsent returns an error if a call sent a test mail and the answer says that the mail server has not accepted it. For
// other answers it returns nil.
func unsent(m contract.Method, answer []byte) error {
	var mail notificationv1.SendTestMailResponse
	if m.Output().FullName() != mail.ProtoReflect().Descriptor().FullName() {
		return nil
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(answer, &mail); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	sent := mail.GetNotification()
	reply := "it has not answered yet"
	if n := len(sent.GetAttempts()); n > 0 {
		reply = line(sent.GetAttempts()[n-1].GetReply())
	}
	switch sent.GetState() {
	case notificationv1.NotificationState_NOTIFICATION_STATE_SENT,
		notificationv1.NotificationState_NOTIFICATION_STATE_UNSPECIFIED:
		return nil
	case notificationv1.NotificationState_NOTIFICATION_STATE_UNCERTAIN:
		return fmt.Errorf("nobody knows whether the mail server took the mail: %s", reply)
	}
	return fmt.Errorf("the mail server has not taken the mail: %s", reply)
}

// request reads the request and checks it against its contract.
func (f *callFlags) request(stdin io.Reader, contract protoreflect.MessageDescriptor) (text []byte, err error) {
	file, named := strings.CutPrefix(f.json, "@")
	switch {
	case named && file != "-":
		text, err = os.ReadFile(file)
	case named, f.json == "-":
		text, err = io.ReadAll(stdin)
	default:
		text = []byte(cmp.Or(f.json, "{}"))
	}
	if err != nil {
		return nil, err
	}
	if err := protojson.Unmarshal(text, dynamicpb.NewMessage(contract)); err != nil {
		reason := strings.TrimPrefix(err.Error(), "proto:") // the kind of space after it varies from build to build
		return nil, errors.New(line(strings.TrimSpace(reason)))
	}
	return text, nil
}
