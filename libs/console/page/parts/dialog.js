// The dialog of an action: what it would do to how many, then the question, then the result.
import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../api.js';
import { html } from '../dom.js';
import { asInput, count } from '../format.js';
import { nowMs } from '../api.js';
import { language, nameOf, t } from '../words.js';
import { Sentence } from './value.js';

/**
 * @typedef {import('../api.js').Action} Action
 * @typedef {import('../api.js').Target} Target
 * @typedef {{ section: string, action: Action, target: Target }} Wanted
 * @typedef {NonNullable<Action['input']>[number]} Field
 */

const UNITS = /** @type {const} */ ([
  ['s', 1_000],
  ['min', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Time after the last change of an input before the preview is read again, ms. */
const SETTLE_MS = 300;

/** Text of the target. @param {Target} target */
export function textOfTarget(target) {
  if ('address' in target) return target.address.slice(2).join(' / ') || target.address.map(nameOf).join(' / ');
  const [section = '', list = '', ...of] = target.list;
  const name = [nameOf(section), nameOf(list), ...of].join(' / ');
  return target.filter ? `${name} · ${target.filter}` : name;
}

/**
 * A native dialog: it holds the focus, closes with Esc, and gives the focus back.
 * @param {{ title: string, onClose: () => void, children: any }} props
 */
export function Modal({ title, onClose, children }) {
  const box = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => before instanceof HTMLElement && before.isConnected && before.focus();
  }, []);
  return html`<dialog ref=${box} aria-labelledby="dialog-title" onClose=${onClose}>
    <h2 id="dialog-title">${title}</h2>
    ${children}
  </dialog>`;
}

/**
 * Input of an action. Reports numbers, and undefined for what is empty or invalid.
 * @param {{ field: Field, onInput: (value: string | number | undefined) => void }} props
 */
function Input({ field, onInput }) {
  const { name, kind, required } = field;
  const [unit, setUnit] = useState(60_000);
  const [text, setText] = useState(kind === 'instant' ? asInput(nowMs() + 60_000) : '');
  useEffect(() => {
    const number = kind === 'instant' ? new Date(text).getTime() : Number(text) * (kind === 'duration' ? unit : 1);
    if (text.trim() === '') onInput(undefined);
    else if (kind === 'text') onInput(text);
    else onInput(Number.isFinite(number) ? Math.round(number) : undefined);
  }, [text, unit]);
  const type = kind === 'instant' ? 'datetime-local' : kind === 'text' ? 'text' : 'number';
  const set = (/** @type {any} */ event) => setText(event.target.value);
  return html`<label class="field">
    <span>${nameOf(name)}${required ? '' : ` (${t('optional')})`}</span>
    <span class="field-row">
      <input type=${type} step=${kind === 'instant' ? '1' : 'any'} value=${text} required=${required} onInput=${set} />
      ${
        kind === 'duration' &&
        html`<select
          aria-label=${t('unit')}
          value=${unit}
          onChange=${(/** @type {any} */ event) => setUnit(Number(event.target.value))}
        >
          ${UNITS.map(([word, ms]) => html`<option value=${ms}>${t(`unit-${word}`)}</option>`)}
        </select>`
      }
    </span>
  </label>`;
}

/** Effect that an action would have. @param {{ preview: import('../api.js').Preview }} props */
function Preview({ preview }) {
  const { count: found, more, samples, sentence } = preview;
  const rest = found - samples.length;
  const number = count(found, language());
  return html`<p class="preview-count">
      ${found === 0 && !more ? t('concernsNone') : more ? t('concernsMore', { count: number }) : t('concerns', { count: number })}
    </p>
    ${
      samples.length > 0 &&
      html`<ul class="samples">
        ${samples.map((sample) => html`<li class="text">${sample}</li>`)}
        ${(rest > 0 || more) && html`<li class="muted">${more ? t('andMore') : t('andRest', { count: count(rest, language()) })}</li>`}
      </ul>`
    }
    ${sentence && html`<${Sentence} sentence=${sentence} />`}`;
}

/** Result of an action. @param {{ done: import('../api.js').Done, action: string }} props */
function Result({ done, action }) {
  const number = count(done.count, language());
  return html`<div role="status">
    ${(done.count > 0 || !done.refused) && html`<p class="result">${t('did', { action: nameOf(action), count: number })}</p>`}
    ${done.refused && html`<${Sentence} sentence=${done.refused} />`}
  </div>`;
}

/**
 * @param {{ wanted: Wanted, onClose: () => void, onDone: () => void }} props
 */
export function ActionDialog({ wanted, onClose, onDone }) {
  const { section, action, target } = wanted;
  const fields = action.input ?? [];
  const [input, setInput] = useState(/** @type {Record<string, string | number | undefined>} */ ({}));
  const [preview, setPreview] = useState(/** @type {import('../api.js').Preview | undefined} */ (undefined));
  const [error, setError] = useState(/** @type {Error | undefined} */ (undefined));
  const [done, setDone] = useState(/** @type {import('../api.js').Done | undefined} */ (undefined));
  const [busy, setBusy] = useState(false);
  const complete = fields.every(({ name, required }) => !required || input[name] !== undefined);
  const given = /** @type {Record<string, string | number>} */ (
    Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined))
  );
  const act = { section, action: action.name, target, input: given };
  const key = JSON.stringify(act);

  useEffect(() => {
    if (!complete || done !== undefined) return undefined;
    const gone = new AbortController();
    const timer = setTimeout(
      () => {
        api.preview(act, gone.signal).then(
          (value) => (setPreview(value), setError(undefined)),
          (reason) => !gone.signal.aborted && (setPreview(undefined), setError(reason)),
        );
      },
      preview === undefined ? 0 : SETTLE_MS,
    );
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [key, complete, done === undefined]);

  const run = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const result = await api.act({ ...act, ...(preview?.expected !== undefined && { expected: preview.expected }) });
      setDone(result);
      onDone();
    } catch (reason) {
      setError(/** @type {Error} */ (reason));
      // It may have run.
      onDone();
    }
    setBusy(false);
  };
  const blocked = !complete || busy || preview === undefined || (preview.count === 0 && !preview.more);
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!blocked) void run();
  };
  return html`<${Modal} title=${nameOf(action.name)} onClose=${onClose}>
    <p class="target text">${textOfTarget(target)}</p>
    <form onSubmit=${submit}>
      ${
        done === undefined
          ? html`${fields.map(
              (field) =>
                html`<${Input}
                  key=${field.name}
                  field=${field}
                  onInput=${(/** @type {any} */ value) => setInput((all) => ({ ...all, [field.name]: value }))}
                />`,
            )}
            ${!complete && html`<p class="muted">${t('needsInput')}</p>`}
            ${preview && html`<${Preview} preview=${preview} />`}
            ${complete && !preview && !error && html`<p class="muted" role="status">${t('looking')}</p>`}`
          : html`<${Result} done=${done} action=${action.name} />`
      }
      ${error && html`<p class="error-text text" role="alert">${t('failed')}: ${error.message}</p>`}
      <div class="buttons">
        <button type="button" onClick=${onClose} autofocus=${action.danger}>
          ${t(done ? 'close' : 'cancelDialog')}
        </button>
        ${
          done === undefined
            ? html`<button type="submit" class=${action.danger ? 'danger' : 'primary'} disabled=${blocked}>
                ${busy ? t('working') : nameOf(action.name)}${preview && preview.count > 1 ? ` (${count(preview.count, language())}${preview.more ? '+' : ''})` : ''}
              </button>`
            : preview?.more &&
              html`<button type="button" class="primary" onClick=${() => (setPreview(undefined), setDone(undefined))}>
                ${t('goOn')}
              </button>`
        }
      </div>
    </form>
  <//>`;
}
