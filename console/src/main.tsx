// The console's entry.
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import '../../src/react/style.css'
import './style/tokens.css'
import './style/base.css'
import './style/frame.css'
import './style/parts.css'
import './style/playground.css'
import './style/sessions.css'
import './style/session.css'
import './style/session-views.css'
import './style/approvals.css'
import './style/tools.css'
import './style/policy.css'
import './style/charts.css'
import './style/overview.css'
import './style/system.css'
import { App } from './app.tsx'
import { applyTheme, readTheme } from './lib/theme.ts'

applyTheme(readTheme())
const root = document.getElementById('root')
if (root)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
