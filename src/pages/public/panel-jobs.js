import { element, panel, table, write } from './dom.js';
import { together } from './counts.js';
import { count, short } from './figures.js';

/** The scheduled job that audits: which process ran it for which slot. */
export function jobsPanel() {
  const note = element('p', { className: 'note' });
  const list = table('jobs', ['Slot', 'Node', 'Outcome', 'Fence'], 'It has not run yet.');
  const node = panel({ title: 'Audit job: who ran it', lib: 'luanest/scheduled-lock', width: 'half' }, note, list.node);
  const show = ({ jobs, nodes }) => {
    const { ran = 0, failed = 0, ...others } = together(nodes, ({ works }) => works.jobs);
    const skipped = Object.values(others).reduce((all, one) => all + one, 0);
    write(note, `${count(ran)} ticks ran, ${count(skipped)} were left to another process, ${count(failed)} failed.`);
    list.fill(
      jobs
        .slice(0, 6)
        .map((job) => [new Date(job.slot).toISOString().slice(11, 21), job.node, job.outcome, short(job.fence)]),
    );
  };
  return { node, show };
}
