import { element, panel, table, write } from './dom.js';
import { together } from './counts.js';
import { count, short } from './figures.js';
import { w } from './operator-words.js';

const SHOWN = 6;

/** Makes the panel of the scheduled audit job: which process ran the job for which slot. */
export function jobsPanel() {
  const note = element('p', { className: 'note' });
  const list = table('jobs', ['slot', 'node', 'outcome', 'took', 'fence'], 'noJob');
  const node = panel({ title: 'jobs', lib: 'luanest/scheduled-lock', width: 'half' }, note, list.node);
  const show = (/** @type {import('./follow.js').View} */ { jobs, nodes }) => {
    const { ran = 0, failed = 0, ...rest } = together(nodes, ({ works }) => works.jobs);
    const others = Object.values(rest).reduce((all, one) => all + one, 0);
    write(note, w.ticks(count(ran), count(others), count(failed)));
    // Records of processes that skipped a slot are left out.
    const told = jobs.filter(({ status }) => !status.startsWith('skipped')).slice(0, SHOWN);
    list.fill(
      told.map((job) => [
        new Date(job.slot).toISOString().slice(11, 21),
        job.node,
        w.outcomes[job.status] ?? job.status,
        `${count(job.durationMs)} ms`,
        short(job.fence),
      ]),
    );
  };
  return { node, show };
}
