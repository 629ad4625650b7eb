// One number that says most, with its name above it and what it consists of below.
import type { ReactElement } from 'react'

export function Tile(props: { name: string; value: string; more: string; isBad?: boolean }): ReactElement {
  return (
    <div className="tile">
      <dt>{props.name}</dt>
      <dd>
        <strong className={props.isBad ? 'bad' : undefined}>{props.value}</strong>
        <span className="tw-muted">{props.more}</span>
      </dd>
    </div>
  )
}
