// The console's entry.
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import '../../src/react/style.css'
import './style/base.css'
import './style/pages.css'
import './style/session.css'
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
