// Writes the faults that servers and proxies make in this process into the notes of `npm run test:faults`. See fault-notes.ts.
const { subscribe } = require('node:diagnostics_channel');
const { appendFileSync } = require('node:fs');

const file = process.env.LUANEST_FAULT_NOTES;
if (file) {
  subscribe('luanest:testing:fault.made', ({ what, count }) => {
    appendFileSync(file, `${JSON.stringify([what, count])}\n`);
  });
}
