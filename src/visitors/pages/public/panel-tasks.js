import { figures, panel, table } from './dom.js';
import { ago, together } from './counts.js';
import { count } from './figures.js';
import { w } from './operator-words.js';

const SHOWN = 5;

/** Makes the panel of delayed tasks: counts of the queue, and the last tasks with the processes that ran them. */
export function tasksPanel() {
  const list = figures({
    waiting: 'waiting',
    overdue: 'overdue',
    running: 'running',
    done: 'done',
    dead: 'dead',
  });
  const last = table('tasks', ['task', 'node', 'outcome', 'late', 'when'], 'noTask');
  const node = panel({ title: 'tasks', lib: 'luanest/delayed-task', width: 'half' }, list.node, last.node);
  const show = (/** @type {import('./follow.js').View} */ { tasks, nodes, atMs }) => {
    const { done = 0 } = together(nodes, ({ works }) => works.tasks);
    list.fill({
      waiting: count(tasks.waiting),
      overdue: count(tasks.overdue),
      running: count(tasks.running),
      done: count(done),
      dead: count(tasks.dead),
    });
    const all = nodes.flatMap(({ node: by, works }) => works.lastTasks.map((task) => ({ ...task, by })));
    const newest = all.sort((one, other) => other.atMs - one.atMs).slice(0, SHOWN);
    last.fill(
      newest.map((task) => [
        task.name,
        task.by,
        w.outcomes[task.status] ?? task.status,
        `${task.lateMs} ms`,
        ago(task.atMs, atMs),
      ]),
    );
  };
  return { node, show };
}
