// The start of the page.
import { render } from 'preact';
import { App } from './app.tsx';
import { followEvents } from './events.ts';
import { followLags } from './lags.ts';
import { followLinks } from './router.ts';
import './styles/base.css';
import './styles/layout.css';
import './styles/states.css';
import './styles/tables.css';
import './styles/matrix.css';
import './styles/charts.css';
import './styles/editor.css';
import './styles/dialogs.css';

const root = document.querySelector('#page');
if (root !== null) {
  followLinks();
  followEvents();
  followLags();
  render(<App />, root);
}
