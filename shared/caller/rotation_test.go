package caller_test

import (
	"testing"
	"time"

	"herald/shared/caller"
	"herald/shared/secret"
)

// While the master key changes, processes are restarted one after another. Each accepts what its
// neighbours sign, and none accepts a key that it does not have.
func TestRotation(t *testing.T) {
	t.Parallel()
	old, fresh := secret.NewKeyText(), secret.NewKeyText()
	var signers []caller.Signer
	for _, text := range []string{old, old + fresh, fresh + old, fresh} {
		keys, err := secret.ParseKeys(text)
		if err != nil {
			t.Fatal(err)
		}
		signers = append(signers, caller.NewSigner(keys, time.Now))
	}
	for step := range signers[1:] {
		for _, pair := range [][2]caller.Signer{
			{signers[step], signers[step+1]}, {signers[step+1], signers[step]},
		} {
			if got, err := pair[0].Verify(pair[1].Sign(user)); err != nil || got.UserID != user.UserID {
				t.Errorf("step %d: %v", step, err)
			}
		}
	}
	forged(t, signers[0], "a key that is not known yet", signers[2].Sign(user))
	forged(t, signers[3], "a key that was removed", signers[1].Sign(user))
}
