import '../../src/react/style.css'
