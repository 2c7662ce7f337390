// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// Which shares paths may lead to is for Windows to say: those in its list of global mappings, and no others. The list
// outlives the agent, as the links do, and everybody on the node reaches what is in it, so going there gives nobody
// more than he has. A share that is not in it is not even asked whether it is there: that would send the node's own
// credentials to a server of somebody else's choice.

// shareKey is the same for all spellings of a share, and the form in which shares are mapped: \\server\share in lower
// case.
func shareKey(server, share string) string { return strings.ToLower(`\\` + server + `\` + share) }

func shareLock(key string) string { return "share " + key }

// shareRoot is the root directory of a share for OpenFile.
func shareRoot(key string) string { return `\\?\UNC` + key[1:] + `\` }

// mapping finds the global mapping of a share, nil when there is none.
func (o *op) mapping(key string) (*kernel.SMBGlobalMapping, error) {
	mappings, err := o.k.SMBGlobalMappings()
	if err != nil {
		return nil, fail(err, "listing the shares that are mapped")
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

// enterShare goes on from a link to a share that is mapped. What lies there is written by workloads, as in a mounted
// volume.
func (p *paths) enterShare(o *op, pl *place, name string, target winpath.Target, w walk) error {
	key := shareKey(target.Server, target.Share)
	mapping, err := o.mapping(key)
	if err != nil {
		return err
	}
	if mapping == nil {
		return refusedLink(pl.path, name, "it leads to the share "+key+", which is not mapped")
	}
	root, err := o.k.OpenFile(nil, shareRoot(key), w.how(win32.FILE_OPEN, win32.FILE_DIRECTORY_FILE))
	if err != nil {
		return fail(err, "entering the share %s on the way to %s", key, pl.path)
	}
	pl.opened, pl.dir, pl.inVolume, pl.inShare = append(pl.opened, root), root, true, true
	w.create = false // the link's own target is not for a caller to make
	for _, below := range target.Rest {
		if _, err := p.enter(o, pl, below, w); err != nil {
			return err
		}
	}
	return nil
}

// share is where a leaf leads that is a link to a share.
func (l *leaf) share() (target winpath.Target, ok bool) {
	if l.reparse == nil {
		return winpath.Target{}, false
	}
	target, err := targetOf(l.reparse)
	return target, err == nil && target.Kind == winpath.TargetUNC
}

// shareAnswers tells whether what a link to a share leads to is there. It does not wait longer for the server than
// answerTime; callers that come meanwhile wait for the same answer.
func (p *paths) shareAnswers(o *op, target winpath.Target, at winpath.Path) bool {
	ctx, cancel := context.WithTimeout(o.ctx, answerTime)
	defer cancel()
	where := strings.Join(append([]string{shareKey(target.Server, target.Share)}, target.Rest...), `\`)
	j := job{what: "AskShare(" + where + ")", key: "ask " + winpath.Fold(where)}
	_, err := change(ctx, o.calls, j, func(o *op) (done, error) {
		pl := &place{path: at}
		defer pl.close()
		return done{}, p.enterShare(o, pl, at.Base(), target, walk{})
	})
	return err == nil
}

// onShare tells whether what is open lies on a share rather than on a volume.
func onShare(l *leaf) bool {
	text, err := l.FinalPath(win32.VOLUME_NAME_DOS)
	const prefix = `\\?\UNC\`
	return err == nil && len(text) > len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}
