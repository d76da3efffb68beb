document.querySelector('nav button').addEventListener('click',()=>{
const root=document.documentElement;
const dark=root.dataset.theme?root.dataset.theme==='dark':
matchMedia('(prefers-color-scheme: dark)').matches;
root.dataset.theme=dark?'light':'dark';});
for(const box of document.querySelectorAll('.frames')){
const slider=box.querySelector('input');const every=[...box.querySelectorAll('[data-frame]')];
slider.addEventListener('input',()=>{every.forEach((one,at)=>{one.hidden=at!==Number(slider.value);});
box.querySelector('output').value=every[slider.value].dataset.frame;});}
