// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubernetes-csi/csi-proxy/internal/similar"
)

// didYouMean returns the end of an error's text: the names that may have been meant, or all of them if they are few. It
// is empty if text is one of the names.
func didYouMean(text string, names []string) string {
	if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, text) }) {
		return ""
	}
	if near := similar.Names(text, names); len(near) > 0 {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(names) <= 6 {
		return "; there are: " + strings.Join(names, ", ")
	}
	return ""
}

// subcommands is the check of the arguments of a command that only groups others.
func subcommands(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	names := subcommandNames(c)
	text := didYouMean(args[0], names)
	if text == "" {
		text = "; there are: " + strings.Join(names, ", ")
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), text)
}

func subcommandNames(c *cobra.Command) (names []string) {
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
			names = append(names, sub.Name())
		}
	}
	return names
}

// unknownFlag adds to the error of an unknown flag the flags that may have been meant.
func unknownFlag(c *cobra.Command, err error) error {
	unknown := (*pflag.NotExistError)(nil)
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	near := similar.Names("--"+unknown.GetSpecifiedName(), names)
	if len(near) == 0 {
		return err
	}
	return fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
}

// cobra's texts about flags that are missing or exclude each other.
var (
	missingFlags = regexp.MustCompile(`^required flag\(s\) (.*) not set$`)
	missingOne   = regexp.MustCompile(`^at least one of the flags in the group \[(.*)\] is required$`)
	exclusive    = regexp.MustCompile(
		`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)
)

// usageText returns the text of an error about a command's usage, which names what is missing as the command's help
// does.
func usageText(c *cobra.Command, err error) string {
	text := err.Error()
	if m := missingFlags.FindStringSubmatch(text); m != nil {
		return c.CommandPath() + " needs " + flagList(c, strings.Split(strings.ReplaceAll(m[1], `"`, ""), ", "), " and ")
	}
	if m := missingOne.FindStringSubmatch(text); m != nil {
		return c.CommandPath() + " needs one of " + flagList(c, strings.Fields(m[1]), ", ")
	}
	if m := exclusive.FindStringSubmatch(text); m != nil {
		return strings.Join(eachWith("--", strings.Fields(m[1])), " and ") + " exclude each other"
	}
	return text
}

// flagList returns flags with the names of their values: --size BYTES.
func flagList(c *cobra.Command, names []string, between string) string {
	for i, name := range names {
		names[i] = "--" + name
		if f := c.Flags().Lookup(name); f != nil {
			if value, _ := pflag.UnquoteUsage(f); value != "" {
				names[i] += " " + strings.ToUpper(value)
			}
		}
	}
	return strings.Join(names, between)
}

func eachWith(prefix string, names []string) []string {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

// meant returns the end of the text of a call that failed because it names something that is not there: what may have
// been meant instead, of the names that completion offers for the command's arguments.
func (a *connection) meant(ctx context.Context) string {
	if a.running == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), completionTime)
	defer cancel()
	for i, want := range arguments(a.running.Use) {
		if i >= len(a.args) || want.name == "DISK" { // diskIn and advice speak of disks
			continue
		}
		names, typed := trimmed(a.offered(ctx, want.name, a.args[:i])), offeredAs(want.name, a.args[i])
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, typed) }) {
			continue
		}
		if text := didYouMean(strings.Trim(typed, `\?`), names); text != "" {
			return text
		}
	}
	return ""
}

// offeredAs returns what a user wrote for an argument in the form in which offers have it: with the port of a portal.
func offeredAs(name, text string) string {
	if name != "PORTAL" {
		return text
	}
	portal, err := parsePortal(text)
	if err != nil {
		return text
	}
	if portal.GetTargetPort() == 0 {
		portal.TargetPort = iscsiPort
	}
	return portalText(portal)
}

// trimmed returns names without the slashes at their ends, which people leave out, and without descriptions.
func trimmed(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		name, _, _ = strings.Cut(name, "\t")
		out[i] = strings.Trim(name, `?`)
	}
	return out
}
