// Recording of the view as MP4, or WebM where the browser cannot.

const KINDS = [["video/mp4;codecs=avc1.42E01E", "mp4"], ["video/mp4", "mp4"], ["video/webm;codecs=vp9", "webm"], ["video/webm;codecs=vp8", "webm"], ["video/webm", "webm"]];

export class Recorder {
  constructor(app) {
    this.app = app;
    this.button = document.getElementById("record");
    this.button.onclick = () => this.toggle();
    this.kind = window.MediaRecorder && KINDS.find(([mime]) => MediaRecorder.isTypeSupported(mime));
    this.button.hidden = !this.kind;
  }

  toggle() {
    if (this.recorder) { this.recorder.stop(); return; }
    const [mime, suffix] = this.kind, pieces = [];
    this.recorder = new MediaRecorder(this.app.canvas.captureStream(30), { mimeType: mime, videoBitsPerSecond: 8e6 });
    this.recorder.ondataavailable = ({ data }) => { if (data.size) pieces.push(data); };
    this.recorder.onstop = () => this.save(new Blob(pieces, { type: mime.split(";")[0] }), suffix);
    this.recorder.start(500);
    this.button.setAttribute("aria-pressed", "true");
  }

  save(blob, suffix) {
    this.recorder = null;
    this.button.setAttribute("aria-pressed", "false");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `flight_${Math.round(this.app.frame?.t || 0)}s.${suffix}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    this.app.say(`${link.download}: ${(blob.size / 1e6).toFixed(1)} MB`);
  }
}
