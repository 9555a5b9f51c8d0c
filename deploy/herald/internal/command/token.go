package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

const tokenHelp = `Log in with the key file of a machine user and print an access token, for curl and scripts.

The token is valid for an hour, or until its key or its user ends. It is not kept: each call logs in
anew.

Exit codes: as for "herald call".`

// accessToken returns the command `token`.
func accessToken() *cobra.Command {
	var (
		f     callFlags
		scope string
	)
	c := &cobra.Command{
		Use:   "token",
		Short: "Print an access token for the key file of a machine user",
		Long:  tokenHelp,
		Example: `  curl -H "Authorization: Bearer $(herald token --key-file key.json)" \
    https://id.example.com/auth/v1/users/me`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			own, address, err := f.settings()
			if err != nil {
				return err
			}
			key, err := f.key(own.run)
			if err != nil {
				return err
			}
			if key.Empty() {
				return errors.New("there is no key: name its file with --key-file or HERALD_KEY_FILE")
			}
			token, err := logIn(c.Context(), client(), address, key, scope)
			if err == nil {
				_, err = fmt.Fprintln(c.OutOrStdout(), token.Reveal())
			}
			return err
		},
	}
	f.atInstance(c.Flags())
	c.Flags().StringVar(&f.keyFile, "key-file", "", "key file of the machine user")
	c.Flags().StringVar(&scope, "scope", apiScope, "scopes of the token")
	return c
}
