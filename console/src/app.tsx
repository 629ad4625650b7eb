// The console: signs in, then shows the page of the address. Each page is loaded when it is first opened.
import { lazy, type ReactElement, Suspense, useCallback, useEffect, useState } from 'react'
import { AapError, type OperatorMe } from '../../src/client/index.ts'
import { toError } from '../../src/lib/text/error-message.ts'
import { Frame } from './frame/frame.tsx'
import type { PageName } from './frame/pages.ts'
import { ConsoleProvider, operator } from './lib/console-state.tsx'
import { publicFile } from './lib/mount-path.ts'
import { Empty, Failure, Loading } from './lib/parts.tsx'
import { hasAnswer, leaveSignInPage } from './lib/provider-sign-in.ts'
import { type Address, useAddress } from './lib/router.tsx'

const SignIn = lazy(() => import('./frame/sign-in.tsx'))
const Playground = lazy(() => import('./pages/playground/playground.tsx'))
const Sessions = lazy(() => import('./pages/sessions/sessions.tsx'))
const Session = lazy(() => import('./pages/session/session.tsx'))
const Compare = lazy(() => import('./pages/session/compare.tsx'))
const Approvals = lazy(() => import('./pages/approvals/approvals.tsx'))
const Tools = lazy(() => import('./pages/tools/tools.tsx'))
const Policy = lazy(() => import('./pages/policy/policy.tsx'))
const Payments = lazy(() => import('./pages/payments/payments.tsx'))
const Overview = lazy(() => import('./pages/overview/overview.tsx'))

type Visit = { me: OperatorMe } | { error: Error } | 'sign-in' | undefined

export function App(): ReactElement {
  const [visit, setVisit] = useState<Visit>()
  const signedOut = useCallback(() => setVisit('sign-in'), [])
  const signedIn = useCallback((me: OperatorMe) => {
    leaveSignInPage()
    setVisit({ me })
  }, [])
  const enter = useCallback((): void => {
    // The provider's answer comes first: someone else may be signed in still.
    if (hasAnswer()) {
      setVisit('sign-in')
      return
    }
    setVisit(undefined)
    operator.me().then(
      me => signedIn(me),
      (error: unknown) => {
        const refused = error instanceof AapError && error.status === 401
        setVisit(refused ? 'sign-in' : { error: toError(error) })
      },
    )
  }, [signedIn])
  useEffect(enter, [enter])
  if (visit === undefined) return <Loading what="the console" />
  if (visit === 'sign-in')
    return (
      <Suspense fallback={<Loading what="the sign-in" />}>
        <SignIn onDone={signedIn} />
      </Suspense>
    )
  if ('error' in visit)
    return (
      <main className="sign-in">
        <h1>
          <img src={publicFile('icon.svg')} alt="" width="24" height="24" /> Turnwire
        </h1>
        <Failure error={visit.error} retry={enter} />
      </main>
    )
  return (
    <ConsoleProvider me={visit.me} onSignedIn={signedIn} onSignedOut={signedOut}>
      <Pages />
    </ConsoleProvider>
  )
}

function Pages(): ReactElement {
  const address = useAddress()
  const [page, content] = findPage(address)
  return (
    <Frame page={page}>
      <Suspense fallback={<Loading what="the page" />}>{content}</Suspense>
    </Frame>
  )
}

function findPage({ path }: Address): [PageName | undefined, ReactElement] {
  if (path === '/' || path === '/playground') return ['playground', <Playground key="p" />]
  if (path === '/sessions') return ['sessions', <Sessions key="s" />]
  if (path === '/compare') return ['sessions', <Compare key="c" />]
  const session = /^\/sessions\/([^/]+)$/.exec(path)?.[1]
  if (session !== undefined) return ['sessions', <Session key={session} id={decodeURIComponent(session)} />]
  if (path === '/approvals') return ['approvals', <Approvals key="a" />]
  if (path === '/tools') return ['tools', <Tools key="t" />]
  if (path === '/policy') return ['policy', <Policy key="r" />]
  if (path === '/payments') return ['payments', <Payments key="m" />]
  // Its address was another one.
  if (path === '/overview' || path === '/system') return ['overview', <Overview key="y" />]
  return [
    undefined,
    <Empty key="none" title="There is no such page">
      <p>The address may be of another version. The pages are listed on the left.</p>
    </Empty>,
  ]
}
