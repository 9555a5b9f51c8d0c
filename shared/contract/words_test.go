package contract

import (
	"regexp"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	_ "herald/shared/gen/herald/auth/v1" // links every contract
	_ "herald/shared/gen/herald/idp/v1"
	_ "herald/shared/gen/herald/notification/v1"
	_ "herald/shared/gen/herald/projects/v1"
	_ "herald/shared/gen/herald/text/v1"
	_ "herald/shared/gen/herald/users/v1"
)

// mechanical are words of a validator or of its notation, which people do not use.
var mechanical = regexp.MustCompile(`(?i:\b(regexp?|regular expression|pattern|match(es)?|length|items?|repeated|` +
	`enum|(un)?defined|string|u?int(32|64)|null|nil|invalid|constraint|violat\w*|expression|cel)\b)|` +
	"[<>=\\^$\\[\\]{}\\\\`]|\\(s\\)|\\b[a-z]+_[a-z]+\\b|\\b1 (characters|bytes|elements)\\b|\\.$")

// The words of validators are recognized.
func TestMechanicalWords(t *testing.T) {
	t.Parallel()
	for _, sentence := range []string{
		"does not match regex pattern `^\\P{Cc}*$`", "must be at least 1 characters", "must not be in list [0]",
		"repeated value must contain unique items", "value length must be at most 3", "must be a defined enum value",
		"this.size() > 0", "must be set with first_name", "must not be empty.",
	} {
		if !mechanical.MatchString(sentence) {
			t.Errorf("%q counts as a sentence for people", sentence)
		}
	}
}

// Every sentence with which a contract refuses a field can be read by somebody who knows no validator.
func TestSentencesOfRules(t *testing.T) {
	t.Parallel()
	methods, err := AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	seen := map[protoreflect.FullName]bool{}
	var read func(protoreflect.MessageDescriptor)
	read = func(d protoreflect.MessageDescriptor) {
		if seen[d.FullName()] {
			return
		}
		seen[d.FullName()] = true
		whole, _ := proto.GetExtension(d.Options(), validate.E_Message).(*validate.MessageRules)
		for _, rule := range whole.GetCel() {
			said[rule.GetMessage()] = string(d.FullName())
		}
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			for _, rules := range []*validate.FieldRules{rulesOf(f), rulesOf(f).GetRepeated().GetItems()} {
				for _, rule := range append(ruleNames(rules), "required") {
					said[words(f, rules, rule)] = string(f.FullName()) + " " + rule
				}
			}
			if f.Message() != nil {
				read(f.Message())
			}
		}
	}
	for _, m := range methods {
		read(m.Input())
	}
	for sentence, of := range said {
		if word := mechanical.FindString(sentence); word != "" {
			t.Errorf("%s: %q has the validator's word %q", of, sentence, word)
		}
		if !strings.HasPrefix(sentence, "must ") && !strings.HasPrefix(sentence, "is ") {
			t.Errorf("%s: %q does not go on behind the field's name", of, sentence)
		}
	}
	if len(said) < 30 {
		t.Errorf("only %d sentences were read", len(said))
	}
}
