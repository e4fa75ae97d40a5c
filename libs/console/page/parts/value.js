// Values, sentences and links, as all screens show them.
import { useState } from 'preact/hooks';
import { html } from '../dom.js';
import { absolute, bytes, count, duration, iso, payloadText, since } from '../format.js';
import { useNow } from '../hooks.js';
import { hashOf } from '../route.js';
import { settings } from '../settings.js';
import { language, nameOf, piecesOf, stateOf, t } from '../words.js';

/**
 * @typedef {import('../../src/console.types.ts').Value} AnyValue
 * @typedef {import('../../src/console.types.ts').Sentence} AnySentence
 */

/** Lines of a payload that are shown before "show all". */
const FEW_LINES = 12;

/** An instant: the time since, and on hover the instant itself; or the other way round. @param {{ atMs: number }} props */
export function Instant({ atMs }) {
  const now = useNow();
  const relative = since(atMs, now, language());
  const exact = absolute(atMs);
  return html`<time class="num" datetime=${iso(atMs)} title=${settings.exactTimes ? relative : exact}
    >${settings.exactTimes ? exact : relative}</time
  >`;
}

/** @param {{ value: unknown }} props */
export function Payload({ value }) {
  const [all, setAll] = useState(false);
  const [copied, setCopied] = useState(false);
  const text = payloadText(value);
  const lines = text.split('\n');
  const isLong = lines.length > FEW_LINES || text.length > 2_000;
  const shown = all || !isLong ? text : lines.slice(0, FEW_LINES).join('\n').slice(0, 2_000);
  const copy = () => navigator.clipboard?.writeText(text).then(() => setCopied(true));
  return html`<div class="payload">
    <pre tabindex="0" aria-label=${t('payload')}>${shown}${shown === text ? '' : '\n…'}</pre>
    <div class="payload-tools">
      ${isLong && html`<button class="small" onClick=${() => setAll(!all)}>${all ? t('showLess') : t('showAll')}</button>`}
      ${navigator.clipboard && html`<button class="small" onClick=${copy}>${copied ? t('copied') : t('copy')}</button>`}
    </div>
  </div>`;
}

/** Text of a payload in one line, for a cell. @param {unknown} payload */
function brief(payload) {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

const NOTHING = html`<span class="muted">–</span>`;

/**
 * A value of the server.
 * @param {{ value: AnyValue | undefined, wide?: boolean }} props wide: there is room for a whole payload
 */
export function Val({ value, wide = false }) {
  if (value === null || value === undefined || value === '') return NOTHING;
  if (typeof value === 'number') return html`<span class="num">${count(value, language())}</span>`;
  if (typeof value === 'boolean') return html`<span>${t(value ? 'yes' : 'no')}</span>`;
  if (typeof value === 'string') return html`<span class="text">${stateOf(value)}</span>`;
  if ('atMs' in value) return html`<${Instant} atMs=${value.atMs} />`;
  if ('ms' in value) {
    return html`<span class="num" title=${`${count(value.ms, language())} ms`}
      >${duration(value.ms, language())}</span
    >`;
  }
  if ('bytes' in value) return html`<span class="num">${bytes(value.bytes, language())}</span>`;
  if ('link' in value) return html`<a href=${hashOf(value.link)}>${value.text === '' ? t('noName') : value.text}</a>`;
  if (!('payload' in value) || value.payload === undefined) return html`<span class="muted">${t('hidden')}</span>`;
  return wide ? html`<${Payload} value=${value.payload} />` : html`<code class="brief">${brief(value.payload)}</code>`;
}

/** A value of a sentence: the end of its name is its unit. @param {{ name: string, value: string | number }} props */
function SentenceValue({ name, value }) {
  if (typeof value !== 'number') return html`<b class="text">${value}</b>`;
  if (name.endsWith('AtMs')) return html`<${Instant} atMs=${value} />`;
  if (name.endsWith('Ms')) return html`<b class="num">${duration(value, language())}</b>`;
  if (name.endsWith('Bytes')) return html`<b class="num">${bytes(value, language())}</b>`;
  return html`<b class="num">${count(value, language())}</b>`;
}

/** Level of a sentence or a row as a coloured dot with a name. @param {{ level: AnySentence['level'] }} props */
export const Dot = ({ level }) => html`<i class=${`dot ${level}`} role="img" aria-label=${t(`level-${level}`)}></i>`;

/**
 * A sentence, the times that it does not name itself, and the action that puts right what it reports.
 * @param {{ sentence: AnySentence, onAct?: (action: string, address: readonly string[]) => void, here?: string, quiet?: boolean }} props
 */
export function Sentence({ sentence, onAct, here, quiet = false }) {
  const pieces = piecesOf(sentence);
  const { values = {}, fix, level } = sentence;
  const named = new Set(pieces.map((piece) => (typeof piece === 'string' ? '' : piece.value)));
  const times = quiet ? [] : Object.entries(values).filter(([name, value]) => isTime(name, value) && !named.has(name));
  const elsewhere = fix !== undefined && here !== undefined && hashOf(fix.address) !== here;
  return html`<div class=${`sentence ${level}`}>
    <${Dot} level=${level} />
    <div class="sentence-text">
      <span>
        ${pieces.map((piece) =>
          typeof piece === 'string'
            ? piece
            : html`<${SentenceValue} name=${piece.value} value=${values[piece.value]} />`,
        )}
      </span>
      ${times.map(
        ([name, value]) =>
          html`<span class="muted extra">${nameOf(name)} <${SentenceValue} name=${name} value=${value} /></span>`,
      )}
      ${elsewhere && html`<a class="extra" href=${hashOf(fix.address)}>${fix.address.at(-1)}</a>`}
    </div>
    ${fix && onAct && html`<button class="small" onClick=${() => onAct(fix.action, fix.address)}>${nameOf(fix.action)}…</button>`}
  </div>`;
}

/** @param {string} name @param {string | number} value */
const isTime = (name, value) => typeof value === 'number' && name.endsWith('Ms');
