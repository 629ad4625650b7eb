// A link to one event of a session.
import type { ReactElement, ReactNode } from 'react'
import { Link } from './router.tsx'

export function EventLink({
  id,
  seq,
  children,
}: {
  id: string
  seq: number
  children: ReactNode
}): ReactElement {
  return (
    <Link to={`/sessions/${id}#seq=${seq}`} className="row-link">
      {children}
    </Link>
  )
}
