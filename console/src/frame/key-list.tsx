// All keys of the console.
import type { ReactElement } from 'react'
import { Dialog } from './dialog.tsx'

const keys: readonly [string, readonly [string, string][]][] = [
  [
    'Everywhere',
    [
      ['Ctrl K, ⌘ K', 'go to a session, an agent, a tool or an action'],
      ['1 – 7', 'the pages of the rail'],
      ['?', 'this list'],
      ['Esc', 'close what is open'],
    ],
  ],
  [
    'Sessions',
    [
      ['j, k', 'next, previous'],
      ['Enter', 'open'],
    ],
  ],
  [
    'Approvals',
    [
      ['j, k', 'next, previous'],
      ['a', 'allow once'],
      ['e', 'edit the arguments'],
      ['Shift A', 'always, with a scope'],
      ['r', 'reject, with a reason'],
      ['z', 'take the last decision back, while it is not sent'],
    ],
  ],
  [
    'Timeline',
    [
      ['← →', 'walk from bar to bar in the order of time'],
      ['+ −', 'zoom'],
      ['0', 'fit the width'],
      ['Enter', 'open in the transcript'],
    ],
  ],
  [
    'One session',
    [
      ['/', 'search inside the session'],
      ['Shift Enter', 'a new line in a message'],
      ['n, Shift N', 'next, previous match'],
      ['← →', 'on the edge of the inspector: its width'],
    ],
  ],
]

export default function KeyList({ onClose }: { onClose: () => void }): ReactElement {
  return (
    <Dialog label="Keys" onClose={onClose}>
      <h2>Keys</h2>
      {keys.map(([name, rows]) => (
        <section key={name}>
          <h3>{name}</h3>
          <dl className="keys">
            {rows.map(([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <p className="licences">
        <a href="/console/licences.txt">Licences of the typeface and the libraries in these pages</a>
      </p>
      <button type="button" className="tw-button" onClick={onClose}>
        Close
      </button>
    </Dialog>
  )
}
