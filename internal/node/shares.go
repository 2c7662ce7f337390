// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// Windows decides which shares paths may lead to: those in its list of global mappings, and no others. The list
// outlives the agent, as the links do, and every process on the node can reach the shares in it, so following a link
// there grants no new access. A share that is not in the list is not even contacted: that would send the node's own
// credentials to a server of somebody else's choice. So that this holds until the last file on the share is closed, a
// walk visits the share: see visits. What other programs remove meanwhile, nobody can prevent.

// shareKey returns the same text for all spellings of a share, in the form in which shares are mapped: \\server\share
// in lower case.
func shareKey(server, share string) string { return strings.ToLower(`\\` + server + `\` + share) }

// shareRoot returns the root directory of a share for OpenFile.
func shareRoot(key string) string { return `\\?\UNC` + key[1:] + `\` }

// mappings lists the global mappings. It asks Windows, never a file server.
func (o *op) mappings() ([]kernel.SMBGlobalMapping, error) {
	restore, err := o.TrackObject(operation.SMBMappings)
	if err != nil {
		return nil, err
	}
	defer restore()
	mappings, err := o.Kernel.SMBGlobalMappings()
	if err != nil {
		return nil, errdefs.Wrapf(err, "listing the shares that are mapped")
	}
	return mappings, nil
}

// mapping returns the global mapping of a share, nil if there is none.
func (o *op) mapping(key string) (*kernel.SMBGlobalMapping, error) {
	mappings, err := o.mappings()
	if err != nil {
		return nil, err
	}
	for _, m := range mappings {
		if mappingKey(m) == key {
			return &m, nil
		}
	}
	return nil, nil //nolint:nilnil // no mapping is an answer
}

func mappingKey(m kernel.SMBGlobalMapping) string {
	return strings.ToLower(strings.TrimSuffix(m.RemotePath, `\`))
}

// enterShare continues the walk from a link to a mapped share. Workloads write there, as in a mounted volume.
func (o *op) enterShare(pl *place, name string, target winpath.Target, w walk) error {
	key := shareKey(target.Server, target.Share)
	if why := noFileShare(target.Server, target.Share); why != "" {
		return refusedLink(pl.path, name, "it leads to "+key+": "+why)
	}
	if err := o.checkServer(target.Server); err != nil {
		return err
	}
	// from here on, the server answers, or the removal of its mapping
	if _, err := o.TrackObject(operation.Share(key)); err != nil {
		return err
	}
	if err := pl.visit(o, key); err != nil {
		return err
	}
	mapping, err := o.mapping(key)
	if err != nil {
		return err
	}
	if mapping == nil {
		return refusedLink(pl.path, name, "it leads to the share "+key+", which is not mapped")
	}
	w.create = false // a caller may not make the link's own target
	rest := target.Rest
	root, err := o.Kernel.OpenFile(nil, shareRoot(key), w.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	if errdefs.IsDenied(err) && len(rest) > 0 {
		root, err = o.openBelowRoot(key, rest[0],
			w.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE|win32.FILE_OPEN_REPARSE_POINT))
		rest = rest[1:]
	}
	if err != nil {
		return errdefs.Wrapf(err, "entering the share %s on the way to %s", key, pl.path)
	}
	pl.dir, pl.inVolume, pl.inShare = pl.own(root), true, true
	for _, below := range rest {
		if _, err := o.enter(pl, below, w); err != nil {
			return err
		}
	}
	return nil
}

// openBelowRoot opens a directory in the root of a share whose root itself denies access. It fails for a link.
func (o *op) openBelowRoot(key, name string, how kernel.OpenHow) (kernel.Handle, error) {
	h, err := o.Kernel.OpenFile(nil, shareRoot(key)+name, how)
	if err != nil {
		return nil, err
	}
	l, err := lookAt(h)
	if err == nil && l.reparse != nil {
		err = errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"%s is a link on the share %s, where workloads write", name, key)
	}
	if err != nil {
		_ = h.Close()
		return nil, err
	}
	return h, nil
}

// shareAnswers reports whether the target of a link to a share exists. It waits for the server no longer than
// answerTime; callers that come meanwhile wait for the same answer.
func (o *op) shareAnswers(target winpath.Target, at winpath.Path) bool {
	ctx, cancel := context.WithTimeout(o.Context, answerTime)
	defer cancel()
	where := strings.Join(append([]string{shareKey(target.Server, target.Share)}, target.Rest...), `\`)
	err := o.node.change(ctx, operation.On("AskShare", operation.ShareContact(where)), func(o *op) error {
		pl := &place{path: at}
		defer pl.close()
		return o.enterShare(pl, at.Base(), target, walk{})
	})
	return err == nil
}

// onShare reports whether the open object lies on a share, not on a volume.
func onShare(l *leaf) bool {
	text, err := l.FinalPath(win32.VOLUME_NAME_DOS)
	const prefix = `\\?\UNC\`
	return err == nil && len(text) > len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}
