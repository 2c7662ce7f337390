// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/records"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// A sharing is a share whose mapping an operation may change, with what is recorded of it. No other operation of any
// process with these records changes either meanwhile. What cannot be read or written is unknown, and then the mapping
// stays: docs/decisions/users-of-shares.md.
type sharing struct {
	*op
	key   string
	by    winpath.Path   // the target of a step; zero: the smb group
	known records.Record // a Mapping
}

// withShare runs f for an operation that holds the share's lock in this process.
func (o *op) withShare(key string, by winpath.Path, f func(s *sharing) error) error {
	s := &sharing{op: o, key: key, by: by, known: records.Record{Share: key}}
	log := o.node.records
	if log == nil {
		return f(s)
	}
	unlock, err := log.Lock(o.run.Context, key)
	if err == nil {
		defer unlock()
		var known records.Record
		if known, err = log.Get(records.Mapping, key); err == nil {
			s.known = known
		}
	}
	if o.run.Context.Err() != nil {
		return o.run.GaveUp()
	}
	if err != nil && !errors.Is(err, records.ErrNone) {
		o.log().Error(err, "It is not known whose the mapping of a share is: the steps keep it", "share", key)
	}
	if _, asked := o.node.asked.Load(key); asked {
		s.known.Asked = true
	}
	return f(s)
}

// look returns the mapping of the share. If Windows lists none, it returns nil, and forgets what was known of the
// share.
func (s *sharing) look() (*kernel.SMBGlobalMapping, error) {
	mapping, err := s.fs.Mapping(s.key)
	if err == nil && mapping == nil {
		s.forget()
	}
	return mapping, err
}

// forget deletes the records of a share that is no longer mapped, in memory and on disk.
func (s *sharing) forget() {
	s.node.mapped.Delete(s.key)
	s.node.asked.Delete(s.key)
	known := s.known.Known()
	s.known = records.Record{Share: s.key}
	if known {
		s.save()
	}
}

// save records what is known of the share. After a failure nothing is known of it, so that its mapping will be kept.
func (s *sharing) save() {
	if s.node.records == nil {
		return
	}
	err := s.node.records.Put(records.Mapping, s.known)
	if err == nil {
		s.node.asked.Delete(s.key)
		return
	}
	s.log().Error(err, "Whose the mapping of a share is cannot be recorded: the steps keep it", "share", s.key)
	if s.known.Asked {
		s.node.asked.Store(s.key, true)
	}
}

// ask records whether the smb group claims the share.
func (s *sharing) ask(asked bool) {
	if s.known.Asked != asked {
		s.known.Asked = asked
		s.node.asked.Delete(s.key)
		s.save()
	}
}

// users returns the recorded targets of the share, but the operation's own.
func (s *sharing) users() ([]string, error) {
	users, err := s.recordedUsers(func(key, target string) bool {
		return key == s.key && winpath.Fold(target) != s.by.Key()
	})
	return users[s.key], err
}

// recordedUsers returns recorded targets at which a link is, or that cannot be looked at, by the keys of their shares.
func (o *op) recordedUsers(wanted func(key, target string) bool) (map[string][]string, error) {
	users := map[string][]string{}
	if o.node.records == nil {
		return users, nil
	}
	all, err := o.node.records.All(records.Use)
	if err != nil {
		return nil, err
	}
	own := o.unrestricted()
	for _, u := range all {
		key := keyOf(u.Remote)
		if !wanted(key, u.Target) {
			continue
		}
		if target, err := o.node.targetPath(u.Target); err == nil { // else it lies in no working directory of this process
			if there, err := own.linked(target); err == nil && !there {
				continue
			}
		}
		users[key] = append(users[key], u.Target)
	}
	return users, nil
}

// usedByOthers reports whether the share has other users than this operation, or may have some. The record of the smb
// group names no users: a call of that group takes it for its own, and a step for another's.
func (s *sharing) usedByOthers() bool {
	users, err := s.users()
	byStep := !s.by.IsZero()
	return err != nil || len(users) > 0 || byStep && s.known.Asked
}

// release gives up the smb group's claim, and unmaps the share if no recorded target uses it.
func (s *sharing) release() error {
	users, err := s.users()
	if err != nil || len(users) > 0 {
		s.ask(false)
		s.log().Info("The mapping of a share stays for the volumes that are staged on it", "share", s.key,
			"targets", users, "err", err)
		return nil
	}
	return s.unmap()
}

// leave ends the use of the share by the operation's target, unless a link is there. If the steps made the mapping and
// it has no other user, it is removed as well. After a crash the target's record is left, and CleanShares tries again.
func (s *sharing) leave() error {
	if there, err := s.linked(s.by); err != nil || there {
		return err
	}
	if s.known.Made == records.Made && !s.known.Asked {
		users, err := s.users()
		if err != nil { // the record stays for a later call
			s.log().Error(err, "The mapping of a share is kept, as its users are not known", "share", s.key)
			return nil
		}
		if len(users) == 0 {
			if err := s.unmap(); err != nil {
				return err
			}
		}
	}
	return recordError(s.node.records.Remove(records.Use, s.by.String()))
}

// unmap removes the mapping of the share, if Windows lists one.
func (s *sharing) unmap() error {
	mapping, err := s.look()
	if err != nil || mapping == nil {
		return err
	}
	if err := s.remove(); err != nil {
		return err
	}
	s.forget()
	return nil
}

// mapOver maps the share, in place of an existing mapping if one is listed. The steps own a mapping that they make
// where there was none, and one that replaces a mapping of theirs.
func (s *sharing) mapOver(listed bool, userName string, password Secret) error {
	owned := s.known.Made == records.Made
	if !listed {
		owned = !s.by.IsZero() // a step maps it
	}
	if owned {
		s.known.Made = records.Begun
		s.save()
	}
	if err := s.mapAnew(listed, userName, password); err != nil {
		return err
	}
	s.node.mapped.Store(s.key, s.run.Request.Credentials)
	if owned {
		s.known.Made = records.Made
		s.save()
	}
	return nil
}
